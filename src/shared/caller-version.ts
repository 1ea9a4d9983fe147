/** The version that marks a pinned tool as one its caller carries out (P60). Authors cannot give it to a tool. */
export const CALLER_VERSION = "caller";
