/**
 * Globs over workspace paths: `*` and `?` within a segment, `**` across segments.
 *
 * Matched by a table of (pattern position, path position) and not by a regular expression, because a pattern comes from
 * a model and `*a*a*a*a*b` makes a backtracking matcher take exponential time. This takes pattern times path.
 */
export function matchesGlob(pattern: string, path: string): boolean {
  const tokens = pattern.match(/\*\*\/?|\*|\?|[^*?]/gu) ?? [];
  const characters = Array.from(path);
  // reachable[i]: the tokens so far can match exactly the first i characters.
  let reachable = characters.map(() => false);
  reachable.unshift(true);
  for (const token of tokens) reachable = step(token, reachable, characters);
  return reachable[characters.length] === true;
}

function step(token: string, before: readonly boolean[], characters: readonly string[]): boolean[] {
  const after = before.map(() => false);
  for (let i = 0; i <= characters.length; i += 1) {
    const previous = characters[i - 1];
    const grown = i > 0 && after[i - 1] === true;
    if (token === "**") after[i] = before[i] === true || grown;
    else if (token === "*") after[i] = before[i] === true || (grown && previous !== "/");
    else if (token === "**/")
      after[i] = before[i] === true || (previous === "/" && before.slice(0, i).includes(true));
    else if (token === "?") after[i] = i > 0 && before[i - 1] === true && previous !== "/";
    else after[i] = i > 0 && before[i - 1] === true && previous === token;
  }
  return after;
}
