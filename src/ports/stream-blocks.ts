/**
 * StreamBlocks: live text of a model attempt, outside the chain (P3). A block packs many parts into one row; the blocks
 * of an attempt are deleted in the transaction of its outcome, so text is never stored twice.
 */
export interface StreamBlock {
  /** Id of the attempt's intent. */
  readonly intentId: string;
  /** UTF-16 code units of the attempt's text before this block. */
  readonly offset: number;
  readonly text: string;
}
export interface StreamBlocks {
  append(block: StreamBlock): void;
  /** The attempt's text so far, blocks joined in order. */
  read(intentId: string): string;
  delete(intentId: string): void;
}
