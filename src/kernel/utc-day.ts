/** The UTC day of a time, without a clock: what spend is summed by. */

const DAY_MS = 86_400_000;
/** Days from 1 March of the year 0 to 1 January 1970, and in 400 years. */
const TO_EPOCH = 719_468;
const ERA = 146_097;

/** `2026-11-30`. Years are counted from March, so that a leap day is the last of its year. */
export function toDay(at: number): string {
  const days = Math.floor(at / DAY_MS) + TO_EPOCH;
  const era = Math.floor(days / ERA);
  const dayOfEra = days - era * ERA;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1_460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const fromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * fromMarch + 2) / 5) + 1;
  const month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  return [pad(year, 4), pad(month, 2), pad(day, 2)].join("-");
}

function pad(value: number, width: number): string {
  return String(value).padStart(width, "0");
}
