/** Stands for `just-bash`, an optional package that `agents` needs for shell scripts of skills; no contender has any. */
export class Bash {
  constructor() {
    throw new Error("the bench has no shell");
  }
}
export function defineCommand(): never {
  throw new Error("the bench has no shell");
}
