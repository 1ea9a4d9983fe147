/** What is asked of every view of the page, in every width and both colours (W10). */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect } from "vitest";
import { NARROW, WIDE, type Tab } from "./browser.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const VIEWS = [
  { name: "wide and light", viewport: WIDE, colorScheme: "light" },
  { name: "wide and dark", viewport: WIDE, colorScheme: "dark" },
  { name: "narrow and light", viewport: NARROW, colorScheme: "light" },
  { name: "narrow and dark", viewport: NARROW, colorScheme: "dark" },
] as const;

/** Every rule of WCAG 2 A and AA and of good practice that axe can decide, as `rule: selector`. */
export async function violations({ page }: Tab): Promise<unknown> {
  await page.evaluate(AXE);
  return page.evaluate(
    `axe.run().then((r) => r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.target.join(" "))))`,
  );
}

/**
 * What is wider than the screen or than the panel it stands in. Asked of each element, because what hides its overflow
 * has no scroll bar that would tell. Code and tables scroll by themselves, on purpose.
 */
export const overflow = ({ page }: Tab): Promise<unknown> =>
  page.evaluate(`[...document.querySelectorAll("#root *")].filter((element) => {
    if (element.closest(".table, pre, .visually-hidden, .skip-link, .wide-word") !== null) return false;
    const { width, right } = element.getBoundingClientRect();
    const around = element.parentElement.closest(".side, .conversation, .sidebar");
    const edge = Math.min(innerWidth, around === null ? innerWidth : around.getBoundingClientRect().right);
    return width > 0 && right > edge + 1;
  }).map((element) => element.tagName + "." + element.className)`);

/** Fits, and has no violation that axe can find. */
export async function expectSound(tab: Tab): Promise<void> {
  expect(await violations(tab)).toEqual([]);
  expect(await overflow(tab)).toEqual([]);
}

/** The same in two corners of the four views: narrow and dark, wide and light. Leaves it wide. */
export async function expectSoundInCorners(tab: Tab): Promise<void> {
  await tab.page.setViewportSize(NARROW);
  await tab.page.emulateMedia({ colorScheme: "dark" });
  await expectSound(tab);
  await tab.page.setViewportSize(WIDE);
  await tab.page.emulateMedia({ colorScheme: "light" });
  await expectSound(tab);
}
