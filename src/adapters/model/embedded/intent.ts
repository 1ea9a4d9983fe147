/** What a message asks for, as far as its words alone tell: before any file has been looked at. */
export type Intent =
  /** One directive a line, `/tool NAME {json}`; the arguments are passed on as written. */
  | { readonly kind: "directives"; readonly calls: readonly Directive[] }
  | { readonly kind: "small_talk" }
  | { readonly kind: "search"; readonly needle: string }
  | { readonly kind: "question"; readonly report: Report | null };

export interface Directive {
  readonly name: string;
  readonly argsText: string;
}
export interface Report {
  /** Where the message wants it, or null. */
  readonly path: string | null;
}

const DIRECTIVE = /^\s*\/tool\s+(\S+)\s*(.*)$/;
const FILE = /[\p{L}\p{N}_./-]*[\p{L}\p{N}_-]\.[a-z]{2,5}\b/giu;
const KNOWN_FILE = /\.(?:csv|tsv|txt|md|log|json|jsonl|html|xml|yaml|yml)$/i;
const GREETING =
  /^\W*(?:hi|hello|hey|good (?:morning|afternoon|evening)|thanks?|thank you|thx|bye|goodbye|ok(?:ay)?|cool|great|nice|ping|test)(?:\s+(?:there|all|you|so much|a lot|very much|holdfast))*\W*$/i;
const ABOUT_ITSELF =
  /\b(?:who|what) are you\b|\bwhat can you do\b|\bhow do(?:es)? (?:you|this) work\b|^\W*help\W*$|\bare you (?:an? )?(?:ai|llm|model|bot|human|real)\b|\bwhat do you do\b/i;
const REPORT =
  /\b(?:write|create|make|save|generate|produce|prepare)\b.*\b(?:reports?|summary|document|markdown)\b|\breport on\b/i;
const REPORT_PATH = /\b(?:to|as|in|into|called|named)\s+[`"']?([\p{L}\p{N}_./-]+\.(?:md|txt))\b/iu;
const SEARCHES: readonly RegExp[] = [
  /^\W*(?:please |can you |could you )*(?:search|grep|scan)\s+(?:for\s+)?(?:the\s+)?(?:words?|phrase|text|term|string)?\s*(.+)$/i,
  /^\W*(?:please |can you |could you )*look for\s+(?:the\s+)?(?:words?|phrase|text|term)?\s*(.+)$/i,
  /\b(?:which|what|show|find|list|count|how many)\b.*?\blines?\b.*?\b(?:mention|mentions|mentioning|contain|contains|containing|with|say|says|have|include|includes)\s+(?:the\s+)?(?:words?|phrase|text)?\s*(.+)$/i,
  /^\W*(?:please |can you |could you )*find\s+(?:all\s+|every\s+|the\s+)*(?:mentions?|occurrences?|words?|phrase|text|references?)\s+(?:of|to|for)?\s*(.+)$/i,
  /^\W*(?:where|how often)\s+(?:does|do|is|are)\s+(?:the\s+)?(?:words?|phrase|text)?\s*(.+?)\s+(?:appear|occur|mentioned|come up)\b/i,
  /^\W*find\s+(["'`“].+?["'`”])/i,
];

export function readIntent(text: string): Intent {
  const calls = readDirectives(text);
  if (calls.length > 0) return { kind: "directives", calls };
  if (GREETING.test(text) || ABOUT_ITSELF.test(text) || text.trim() === "")
    return { kind: "small_talk" };
  const needle = readNeedle(text);
  if (needle !== null) return { kind: "search", needle };
  return {
    kind: "question",
    report: REPORT.test(text) ? { path: REPORT_PATH.exec(text)?.[1] ?? null } : null,
  };
}

function readDirectives(text: string): readonly Directive[] {
  return text.split("\n").flatMap((line) => {
    const [, name, args] = DIRECTIVE.exec(line) ?? [];
    return name === undefined ? [] : [{ name, argsText: args?.trim() || "{}" }];
  });
}

function readNeedle(text: string): string | null {
  for (const pattern of SEARCHES) {
    const found = pattern.exec(text)?.[1];
    if (found === undefined) continue;
    const quoted = /["`“]([^"`”]+)["`”]|(?:^|\s)'([^']+)'/.exec(found);
    const needle = quoted?.[1] ?? quoted?.[2] ?? bareNeedle(found);
    if (needle !== "") return needle;
  }
  return null;
}

function bareNeedle(found: string): string {
  return found
    .replace(
      /\s+(?:in|inside|within|from|of)\s+(?:the\s+|my\s+|this\s+)?(?:files?|text|csv|data|document|log|notes?|[\p{L}\p{N}_./-]+\.[a-z]{2,5})\b.*$/iu,
      "",
    )
    .replace(/[\s.,;:?!]+$/, "")
    .trim();
}

/** Files that the message names. The place a report goes to is not one to read. */
export function namedFiles(text: string): readonly string[] {
  const target = REPORT.test(text) ? REPORT_PATH.exec(text)?.[1] : undefined;
  return [...text.matchAll(FILE)]
    .map(([name]) => name.replace(/^\.\//, ""))
    .filter((name) => KNOWN_FILE.test(name) && name !== target);
}

/** The question without file names, so that their words are not read as columns. */
export function withoutFiles(text: string): string {
  return text
    .replace(FILE, (name) => (KNOWN_FILE.test(name) ? " " : name))
    .replace(/\b(?:in|from|of|on|to|as|into)\s+(?=[?.!,]|$|\s{2,})/gi, " ");
}
