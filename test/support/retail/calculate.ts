/** Arithmetic of the shop's `calculate`, to cents: + - * / and parentheses, nothing else. */
import { AppError } from "#shared/errors.ts";
import { toCents } from "./records.ts";

export function calculate(expression: string): string {
  const tokens = expression.match(/\d+(?:\.\d+)?|[-+*/()]|\S/g) ?? [];
  let at = 0;
  const refuse = (): never => {
    throw new AppError("tool_failed", `not arithmetic at ${tokens[at] ?? "the end"}`);
  };
  const atom = (): number => {
    const token = tokens[at];
    at += 1;
    if (token === "-") return -atom();
    if (token === "(") {
      const value = sum();
      if (tokens[at] !== ")") refuse();
      at += 1;
      return value;
    }
    return token !== undefined && /^\d/.test(token) ? Number(token) : refuse();
  };
  const product = (): number => {
    let value = atom();
    for (; tokens[at] === "*" || tokens[at] === "/";) {
      const divides = tokens[at] === "/";
      at += 1;
      value = divides ? value / atom() : value * atom();
    }
    return value;
  };
  const sum = (): number => {
    let value = product();
    for (; tokens[at] === "+" || tokens[at] === "-";) {
      const subtracts = tokens[at] === "-";
      at += 1;
      value = subtracts ? value - product() : value + product();
    }
    return value;
  };
  const value = sum();
  if (at < tokens.length || !Number.isFinite(value)) refuse();
  return String(toCents(value));
}
