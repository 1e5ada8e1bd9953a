// The result of a plugin: a code, the reasons that users read in events and conditions, and the
// name of the plugin.

import { errorMessage } from '#machinery/error-message.ts';
/**
 * The result of a plugin.
 * - Success: continue.
 * - Error: an error occurred; the pod is retried after a back-off.
 * - Unschedulable: the pod does not fit now (removing other pods might help).
 * - UnschedulableAndUnresolvable: removing other pods would not help either.
 * - Wait: only from Permit.
 * - Skip: from PreFilter or PreScore, this plugin's Filter or Score is not called for this pod;
 *   from Bind, another plugin must bind.
 * - Pending: the pod waits for something that the plugin has requested; its event requeues the pod
 *   without back-off.
 */
export type Code =
  | 'Success'
  | 'Error'
  | 'Unschedulable'
  | 'UnschedulableAndUnresolvable'
  | 'Wait'
  | 'Skip'
  | 'Pending';

/**
 * A status other than success. Immutable, so plugins create constant statuses once and return the
 * same object for thousands of nodes. Success is undefined.
 */
export class Status {
  readonly code: Exclude<Code, 'Success'>;
  readonly reasons: readonly string[];
  /** The plugin that returned the status; the framework sets it if the plugin did not. */
  readonly plugin: string | undefined;
  /** The cause of an Error. Its message is the first reason. */
  readonly cause: unknown;

  constructor(
    code: Exclude<Code, 'Success'>,
    reasons: readonly string[],
    plugin?: string,
    cause?: unknown,
  ) {
    this.code = code;
    this.reasons = reasons;
    this.plugin = plugin;
    this.cause = cause;
  }

  static error(cause: unknown, plugin?: string): Status {
    return new Status('Error', [errorMessage(cause)], plugin, cause);
  }

  /** The reasons, joined. */
  get message(): string {
    return this.reasons.join(', ');
  }

  /** Whether the pod was rejected (as opposed to an error or a wait). */
  get rejected(): boolean {
    return (
      this.code === 'Unschedulable' ||
      this.code === 'UnschedulableAndUnresolvable' ||
      this.code === 'Pending'
    );
  }

  withPlugin(plugin: string): Status {
    return this.plugin === plugin ? this : new Status(this.code, this.reasons, plugin, this.cause);
  }
}

/** Returns the code of an extension point's result. */
export function codeOf(status: Status | undefined): Code {
  return status === undefined ? 'Success' : status.code;
}
