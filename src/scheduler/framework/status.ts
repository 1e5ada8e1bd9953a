// The result of a plugin: a code, the reasons that users read in events and conditions, and the
// name of the plugin.

import { errorMessage } from '#machinery/error-message.ts';
/**
 * Success: go on. Error: something broke; the pod is tried again after a backoff. Unschedulable:
 * this pod does not fit now (removing other pods might help). UnschedulableAndUnresolvable:
 * removing other pods would not help either. Wait: only from Permit. Skip: from PreFilter or
 * PreScore, leave out this plugin's Filter or Score for this pod; from Bind, not mine. Pending: the
 * pod waits for something that the plugin has asked for; its event requeues without backoff.
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
 * Immutable, so plugins make those that never vary once and answer the same object for thousands of
 * nodes. Success has no object: extension points answer undefined for it.
 */
export class Status {
  readonly code: Exclude<Code, 'Success'>;
  readonly reasons: readonly string[];
  /** The plugin that answered it; the framework sets it if the plugin did not. */
  readonly plugin: string | undefined;
  /** For Error: what was caught. Its message is the first reason. */
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

  /** The reasons as one text. */
  get message(): string {
    return this.reasons.join(', ');
  }

  /** The pod was refused (as opposed to: something broke, or has to wait). */
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

/** The code of what an extension point answered. */
export function codeOf(status: Status | undefined): Code {
  return status === undefined ? 'Success' : status.code;
}
