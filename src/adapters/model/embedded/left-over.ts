/**
 * What a reading does not use. A number for another question is worse than no number, so a word that might be a condition
 * ends in a refusal.
 */
import type { Reading } from "./reading.ts";
import {
  ADJECTIVES,
  nameWords,
  OPERATION_WORDS,
  PART_NOUNS,
  ROW_NOUNS,
  STOP_WORDS,
  type Token,
} from "./words.ts";

/**
 * Words without a role. One may name the rows themselves ("how many penguins"); any other might be a condition that was
 * not understood, and then there is no answer.
 */
export function leftOver(reading: Reading): {
  unmatched: readonly string[];
  rowNouns: readonly string[];
} {
  const { tokens, used, profile } = reading;
  const known = new Set(
    [profile.path.split("/").at(-1) ?? "", ...profile.columns.map((column) => column.name)].flatMap(
      nameWords,
    ),
  );
  const isOpen = (token: Token | undefined, at: number): boolean =>
    token !== undefined &&
    !used.has(at) &&
    (token.quoted ||
      (!STOP_WORDS.has(token.lower) &&
        !OPERATION_WORDS.has(token.lower) &&
        !ADJECTIVES.has(token.lower) &&
        !isCommand(token)));
  const open = [...tokens.entries()].filter(([at, token]) => isOpen(token, at));
  const noun = open.find(
    ([at, token]) =>
      !token.quoted &&
      token.number === null &&
      !isOpen(tokens[at + 1], at + 1) &&
      namesRows(reading, at),
  )?.[1];
  const rest = open.filter(
    ([, token]) => token.stem !== noun?.stem && (token.quoted || !known.has(token.stem)),
  );
  return {
    unmatched: [...new Set(rest.map(([, token]) => token.text))],
    rowNouns: noun === undefined || known.has(noun.stem) ? [] : [noun.text],
  };
}

/** After "how many", a value ("Adelie penguins"), a superlative, or as the owner of what is measured ("mass of penguins"). */
function namesRows({ tokens, used, mentions, targets }: Reading, at: number): boolean {
  if (PART_NOUNS.has(tokens[at]?.stem ?? "") || PART_NOUNS.has(tokens[at]?.lower ?? ""))
    return false;
  const before = tokens
    .slice(Math.max(0, at - 4), at)
    .map((token) => token.lower)
    .join(" ");
  if (
    mentions.some(
      (mention) => mention.kind === "value" && mention.end === at && used.has(mention.start),
    )
  )
    return true;
  if (
    /(?:which|what|list|show|show me|list the|show the|(?:top|bottom|largest|smallest|highest|lowest|biggest|oldest|youngest|heaviest|cheapest|expensive)(?: \d+)?)$/.test(
      before,
    )
  )
    return true;
  if (
    /(?:how many|number of|count of|count|most|least|fewest|(?:percentage|percent|share|proportion|fraction) of|% of)(?: (?:all|the|all the|of the|of all)| \d+)*$/.test(
      before,
    )
  )
    return true;
  return targets.length > 0 && ROW_NOUNS.has(tokens[at]?.stem ?? "");
}

function isCommand(token: Token): boolean {
  return /^(?:group|grouped|broken|break|write|create|make|save|report|reports|describe|summari[sz]e|summary|overview|explore|analy[sz]e|schema|structure|compare|comparison|versus|vs|percent|percentage|share|proportion|fraction|including|contains?|containing|includes?|ranked?|typical|often|common|popular|highest|largest|did|didn't|wasn't|isn't|markdown|md|brief|short|quick|breakdown|distribution|sample|examples?|expensive|mode)$/.test(
    token.lower,
  );
}
