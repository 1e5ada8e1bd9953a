// The result of a command on the error stream: a Status as JSON since v4, only the message of a
// failure before.

import { internalError, StatusError, toStatus, type Status } from '#machinery/apierrors.ts';
import type { RemoteCommandResult } from './types.ts';

/** The reason of a Status with an exit code, and the reason of the cause that holds the code. */
const nonZeroExitCode = 'NonZeroExitCode';
const exitCodeCause = 'ExitCode';

const success: Status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' };

export function statusOfResult(result: RemoteCommandResult | void): Status {
  if (result === undefined || result.exitCode === 0) return success;
  const code = String(result.exitCode);
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: exit status ${code}`,
    reason: nonZeroExitCode,
    details: { causes: [{ reason: exitCodeCause, message: code }] },
  };
}

export function statusOfError(err: unknown): Status {
  if (err instanceof StatusError) return toStatus(err);
  return toStatus(internalError(err instanceof Error ? err : String(err)));
}

/** Encodes a status for the protocol. Before v4, success is empty. */
export function encodeOutcome(status: Status, asJson: boolean): Buffer {
  if (asJson) return Buffer.from(JSON.stringify(status));
  return Buffer.from(status.status === 'Success' ? '' : (status.message ?? 'unknown error'));
}

/**
 * Decodes the error stream. Before v4, an empty text is success. Throws the error of the command.
 */
export function decodeOutcome(bytes: Buffer, asJson: boolean): RemoteCommandResult {
  const text = bytes.toString();
  if (!asJson) {
    if (text === '') return { exitCode: 0 };
    throw new Error(`error executing remote command: ${text}`);
  }
  let status: Status;
  try {
    status = JSON.parse(text) as Status;
  } catch (error) {
    throw new Error(
      text === ''
        ? 'the connection ended before the outcome was known'
        : `error stream protocol error: ${text}`,
      {
        cause: error,
      },
    );
  }
  if (status.status === 'Success') return { exitCode: 0 };
  if (status.reason === nonZeroExitCode) {
    const cause = status.details?.causes?.find(({ reason }) => reason === exitCodeCause);
    const exitCode = Number(cause?.message);
    if (Number.isInteger(exitCode)) return { exitCode };
    throw new Error(
      `error stream protocol error: invalid exit code value ${JSON.stringify(cause?.message)}`,
    );
  }
  throw new StatusError(status);
}
