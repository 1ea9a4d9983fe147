/**
 * Mortal: a process that can die at each place where something of it becomes lasting. At its target, and ever after, each
 * place throws, as nothing of a dead process goes on; without a target it only writes the places down.
 */
export class Death extends Error {
  constructor(place: string) {
    super(`died at ${place}`);
  }
}

export class Mortal {
  readonly places: string[] = [];
  readonly #target: number;
  diedAt: string | null = null;

  /** The first place is 1; 0 never dies. */
  constructor(target: number = 0) {
    this.#target = target;
  }

  pass(place: string): void {
    this.live();
    this.places.push(place);
    if (this.places.length !== this.#target) return;
    this.diedAt = place;
    throw new Death(place);
  }

  /** What reads is no place to die at, and the dead do not read. */
  live(): void {
    if (this.diedAt !== null) throw new Death(this.diedAt);
  }

  /** A call of another system: it dies before anything happened there, or before it hears that it did. */
  async call<T>(place: string, work: () => Promise<T>): Promise<T> {
    this.pass(`before ${place}`);
    const value = await work();
    this.pass(`after ${place}`);
    return value;
  }
}

/** Numbers of the places worth dying at: of those at which zeros are written over zeros, the first and the last. */
export function targetsOf(places: readonly string[]): readonly number[] {
  return places.flatMap((place, index) => {
    const isOuter = places.indexOf(place) === index || places.lastIndexOf(place) === index;
    return isOuter || !place.includes("wiping") ? [index + 1] : [];
  });
}
