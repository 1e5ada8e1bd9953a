// Errors of nft: its messages as a closed set of reasons.

export type NftErrorReason =
  /** A table, chain, map or element does not exist, or the kernel lacks a module. */
  | 'NotFound'
  | 'AlreadyExists'
  /** The object to delete is still referred to. */
  | 'InUse'
  | 'NotPermitted'
  /** This version of nft does not understand the commands. */
  | 'Syntax'
  | 'NotInstalled'
  | 'Other';

export class NftError extends Error {
  override readonly name = 'NftError';
  readonly reason: NftErrorReason;
  /** The first line that nft printed. */
  readonly detail: string;
  /** The number of the failed line of commands, from 1. */
  readonly line: number | undefined;

  constructor(
    reason: NftErrorReason,
    message: string,
    options: ErrorOptions & { line?: number; detail?: string } = {},
  ) {
    super(message, options);
    this.reason = reason;
    this.detail = options.detail ?? message;
    this.line = options.line;
  }
}

const REASONS: readonly (readonly [RegExp, NftErrorReason])[] = [
  [/No such file or directory/, 'NotFound'],
  [/File exists/, 'AlreadyExists'],
  [/Device or resource busy/, 'InUse'],
  [/Operation not permitted/, 'NotPermitted'],
  [/syntax error|unknown identifier|unexpected/, 'Syntax'],
];

/**
 * Parses the output of a failed nft: `/dev/stdin:3:15-15: Error: Could not process rule: No such
 * file or directory`, followed by the command and marks below it. Only the first error counts:
 * others often follow from it.
 */
export function parseNftError(stderr: string, exitCode: number): NftError {
  const text = stderr.trim();
  const detail = text.split('\n')[0] || `nft ended with exit code ${exitCode}`;
  const reason = REASONS.find(([pattern]) => pattern.test(detail))?.[1] ?? 'Other';
  const line = /^(?:\/dev\/stdin|<cmdline>):(\d+):/.exec(detail)?.[1];
  return new NftError(reason, `nft failed: ${text || `exit code ${exitCode}`}`, {
    detail,
    ...(line !== undefined && { line: Number(line) }),
  });
}
