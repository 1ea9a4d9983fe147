/** Why an address may not be asked, in words for the tenant, or null where it may. */
import { checkEgressUrl, describeRefusal, type EgressRules } from "#shared/egress-address.ts";

export function refuseAddress(rules: EgressRules): (url: string) => string | null {
  return (url) => {
    const checked = checkEgressUrl(url, rules);
    return checked.ok ? null : describeRefusal(checked.error);
  };
}
