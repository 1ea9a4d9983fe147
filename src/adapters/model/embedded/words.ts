/** Words of a question: tokens, stems and the closed lists that the rules of `embedded/scripted` are written with. */
export interface Token {
  /** As written; the inner text when quoted. */
  readonly text: string;
  readonly lower: string;
  readonly stem: string;
  readonly quoted: boolean;
  /** The value of a literal such as `4,000`, `$12.50` or `30%`, or null. */
  readonly number: number | null;
}

const TOKEN =
  /"([^"]+)"|“([^”]+)”|(?<=^|\s)'([^']+)'(?=$|[\s.,?!])|`([^`]+)`|>=|<=|!=|==|[<>=]|\d{4}-\d{2}(?:-\d{2})?|[$€£]?\d+(?:,\d{3})*(?:\.\d+)?%?|[\p{L}_][\p{L}\p{N}_]*(?:[-'’][\p{L}\p{N}]+)*/gu;

export function tokenise(text: string): readonly Token[] {
  return [...text.matchAll(TOKEN)].map((match) => {
    const quoted = match.slice(1).find((group) => group !== undefined);
    return toToken(quoted ?? match[0].replace(/['’]s$/u, ""), quoted !== undefined);
  });
}

function toToken(text: string, quoted: boolean): Token {
  const lower = text.toLowerCase();
  return { text, lower, stem: stem(lower), quoted, number: toNumber(text) };
}

export function toNumber(text: string): number | null {
  const plain = text.replace(/[$€£%,\s]/g, "");
  return /^-?\d+(?:\.\d+)?$/.test(plain) ? Number(plain) : null;
}

/** English plurals and adverbs only: enough to let `islands` meet `island`, and never so much that two columns become one. */
export function stem(word: string): string {
  if (word.length > 6 && word.endsWith("ly")) return word.slice(0, -2);
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (/(?:ss|us|is|ies)$/.test(word) || word.length <= 3) return word;
  if (/(?:x|ch|sh|ss)es$/.test(word)) return word.slice(0, -2);
  return word.endsWith("s") ? word.slice(0, -1) : word;
}

/** `bodyMass_g` and `Body mass (g)` are both `body mass g`. */
export function nameWords(name: string): readonly string[] {
  return name
    .replace(/([\p{Ll}\d])(\p{Lu})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "")
    .map(stem);
}

const list = (words: string): ReadonlySet<string> => new Set(words.split(/\s+/));

export const PREPOSITIONS = list(
  "in on from at with of for by named called to than where whose within during into under over without having using",
);

/** Words that carry no condition: leaving them out of a reading changes nothing. */
export const STOP_WORDS: ReadonlySet<string> = new Set([
  ...PREPOSITIONS,
  ...list(`a an the this that these those some any all each every both it its their there here i you we they he she me my our your us them
    is are was were be been being am do does did has have had can could would should will shall may might must let lets want need like
    please tell show give get find list display print return compute calculate work out check see look know help answer
    and or not no but so if then as also just only about what whats which who whom how when why many much number amount
    row rows record records entry entries line lines item items data dataset file csv table column columns field fields value values sheet
    live lives lived come comes came based made make found recorded measured observed sell sells selling sold bought placed born belong belongs containing
    overall altogether together total totals per across different distinct unique sort sorted order ordered group grouped break broken down
    hello hi hey thanks thank ok okay now new same other than more less most least first last thing things kind kinds type types exist appear occur`),
]);

/** Words of operations, so that a column is not found inside them by a part of its name. */
export const OPERATION_WORDS =
  list(`total totals sum average averages avg mean median count counts number min minimum max maximum highest lowest
  largest smallest biggest top bottom most least fewest best worst percent percentage share distinct unique different common frequent each
  first last value values row rows`);

/** Words that name a quantity by another word than its column does. They count only when exactly one column fits. */
export const SYNONYMS: ReadonlyMap<string, readonly string[]> = new Map(
  (
    [
      ["unit item piece", "quantity qty unit"],
      ["revenue sale turnover spent spend spending income", "total amount revenue sale"],
      ["earn earned earning pay paid wage income", "salary wage income pay"],
      ["weigh weight weighed", "mass weight"],
      ["cost", "price cost fare"],
      ["gender", "sex gender"],
    ] as const
  ).flatMap(([from, to]) => from.split(" ").map((word) => [word, to.split(" ")] as const)),
);

/** Values under another word. */
export const VALUE_SYNONYMS: ReadonlyMap<string, string> = new Map([
  ["women", "female"],
  ["woman", "female"],
  ["men", "male"],
  ["man", "male"],
]);

/** Nouns that name all rows of a table of people or things, whatever its file is called. */
export const ROW_NOUNS = list(
  "people person individual item thing case sample observation animal bird member participant",
);

/** Nouns that name some of the rows: taking them for all would answer another question. */
export const PART_NOUNS = list(
  "child children kid baby adult senior minor boy girl survivor victim winner loser male female",
);

/** What an adjective measures, to be looked for among the column names. */
export const ADJECTIVES: ReadonlyMap<
  string,
  { readonly nouns: readonly string[]; readonly order: "desc" | "asc" }
> = new Map([
  ["older", { nouns: ["age"], order: "desc" }],
  ["oldest", { nouns: ["age"], order: "desc" }],
  ["younger", { nouns: ["age"], order: "asc" }],
  ["youngest", { nouns: ["age"], order: "asc" }],
  ["heavier", { nouns: ["weight", "mass"], order: "desc" }],
  ["heaviest", { nouns: ["weight", "mass"], order: "desc" }],
  ["lighter", { nouns: ["weight", "mass"], order: "asc" }],
  ["lightest", { nouns: ["weight", "mass"], order: "asc" }],
  ["taller", { nouns: ["height"], order: "desc" }],
  ["tallest", { nouns: ["height"], order: "desc" }],
  ["cheaper", { nouns: ["price", "cost", "fare"], order: "asc" }],
  ["cheapest", { nouns: ["price", "cost", "fare"], order: "asc" }],
  ["expensive", { nouns: ["price", "cost", "fare"], order: "desc" }],
  ["priciest", { nouns: ["price", "cost", "fare"], order: "desc" }],
]);
