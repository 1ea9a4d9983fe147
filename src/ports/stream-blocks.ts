/**
 * StreamBlocks: live text of a model attempt, outside the chain (P3). A block packs many parts into one row; the blocks
 * of an attempt are deleted in the transaction of its outcome, so text is never stored twice.
 */
export interface StreamBlock {
  /** Seq of the attempt's `model.requested`. */
  readonly seq: number;
  readonly attempt: number;
  /** 0 for the attempt's first block. */
  readonly idx: number;
  readonly text: string;
}
export interface StreamBlocks {
  append(block: StreamBlock): void;
  /** Blocks of the attempt, in order. */
  read(seq: number): readonly StreamBlock[];
  delete(seq: number): void;
}
