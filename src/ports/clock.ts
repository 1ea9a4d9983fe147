/** Wall time in epoch milliseconds. Order never comes from it: order comes from `seq` alone (rule L1). */
export interface Clock {
  now(): number;
}
