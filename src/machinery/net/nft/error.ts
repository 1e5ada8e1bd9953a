// Errors of nft: its messages as a closed set of reasons.

export type NftErrorReason =
  /** A table, chain, map or element does not exist, or the kernel lacks the module for something. */
  | 'NotFound'
  | 'AlreadyExists'
  /** Something else refers to what should be deleted. */
  | 'InUse'
  | 'NotPermitted'
  /** nft, or the version of nft on this machine, does not understand the commands. */
  | 'Syntax'
  | 'NotInstalled'
  | 'Other';

export class NftError extends Error {
  override readonly name = 'NftError';
  readonly reason: NftErrorReason;
  /** The first line that nft printed. */
  readonly detail: string;
  /** Number of the command's line that failed, from 1. */
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
 * Returns the error for what nft printed: `/dev/stdin:3:15-15: Error: Could not process rule: No such file or
 * directory`, then the command and marks below it. The first error counts: others often follow from it.
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
