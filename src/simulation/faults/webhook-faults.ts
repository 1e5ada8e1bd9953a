// Where faults of webhooks are injected: before each call of a webhook.

import type { ActiveFault } from './active-faults.ts';

export class WebhookFaults {
  readonly #hanging = new Map<ActiveFault, (name: string) => boolean>();

  /** Lets calls of the webhooks that match wait until the fault ends. */
  hang(fault: ActiveFault, matches: (name: string) => boolean): void {
    this.#hanging.set(fault, matches);
    fault.onEnd(() => this.#hanging.delete(fault));
  }

  /**
   * Called before each call of a webhook. Undefined: it may go on. The promise resolves when it may, or when the
   * signal aborts: then the time limit of the webhook is over.
   */
  readonly intercept = (name: string, signal: AbortSignal): Promise<void> | undefined => {
    for (const [fault, matches] of this.#hanging) {
      if (!matches(name)) continue;
      fault.hits++;
      return fault.ended(signal);
    }
    return undefined;
  };
}
