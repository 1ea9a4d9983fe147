/**
 * Token estimate: what a text will weigh in a prompt, without a tokenizer.
 *
 * One pass, deterministic, on the high side of common tokenizers: a word costs one token per 7 characters, digits one
 * per 3, punctuation and wide scripts one each. It feeds trimming and reservations, never a bill that has real usage.
 */
const WORD_CHARS = 7;
const DIGIT_CHARS = 3;
/** From here on (CJK, kana, hangul, surrogates of emoji) tokenizers spend about a token per unit. */
const WIDE_FROM = 0x2e80;
/** Role markers and separators that a chat template adds to each message. */
export const MESSAGE_OVERHEAD = 4;

export function estimateTokens(text: string): number {
  let tokens = 0;
  let word = 0;
  let digits = 0;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (isDigit(code)) {
      if (digits % DIGIT_CHARS === 0) tokens += 1;
      digits += 1;
      word = 0;
      continue;
    }
    digits = 0;
    if (isWordChar(code)) {
      if (word % WORD_CHARS === 0) tokens += 1;
      word += 1;
      continue;
    }
    word = 0;
    if (code > 32) tokens += 1;
  }
  return tokens;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function isWordChar(code: number): boolean {
  return (
    (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 128 && code < WIDE_FROM)
  );
}
