/**
 * SecretBox: keeps secrets that have to be used again, such as those that a sender signs with, unreadable where they lie.
 *
 * A sealed secret opens only under the context that it was sealed for, so that a row that was moved opens nothing.
 */
export interface SecretBox {
  seal(secret: string, context: string): Promise<string>;
  /** Null: sealed by another deployment, for another context, or changed. */
  open(sealed: string, context: string): Promise<string | null>;
}
