// Webhooks that are functions of this process. Each has a URL that no DNS server knows. The webhook
// client passes requests for such a URL to the function instead of the network. Rules, reviews, time
// limits and the handling of the response are the same as for other webhooks.

import { errorMessage } from '#machinery/error-message.ts';
import { parseJson } from '#machinery/text/json.ts';
import { stringifyJson } from '#machinery/text/json-integers.ts';
import { ResponseTooLargeError, type WebhookResponse } from './send.ts';

/**
 * Returns the response to a review. Both are JSON; the review is the handler's own copy. The signal
 * aborts at the webhook's time limit. An error that the handler throws becomes a response with the
 * status code 500 and the error's message as text.
 */
export type LocalWebhookHandler = (review: unknown, signal: AbortSignal) => unknown;

export interface LocalCallOptions {
  readonly maxResponseBytes: number;
  readonly signal: AbortSignal;
}

export interface LocalWebhook {
  /** For the client config of a webhook. */
  readonly url: string;
  /** Calls fail from now on, as those to a host that does not exist. Idempotent. */
  remove(): void;
}

/** RFC 6761: names under `invalid` never exist, so that a request by mistake goes nowhere. */
const DOMAIN = '.in-process.invalid';

export class LocalWebhooks {
  /** By host. */
  readonly #handlers = new Map<string, LocalWebhookHandler>();

  /**
   * `name` is a DNS label or several, unique among the handlers. Throws Error for a name that is
   * taken.
   */
  add(name: string, handler: LocalWebhookHandler): LocalWebhook {
    const host = `${name}${DOMAIN}`;
    if (this.#handlers.has(host)) throw new Error(`there is a webhook ${name} already`);
    this.#handlers.set(host, handler);
    return { url: `https://${host}/`, remove: () => void this.#handlers.delete(host) };
  }

  /** Returns the same handlers, independent of these. */
  copy(): LocalWebhooks {
    const copy = new LocalWebhooks();
    for (const [host, handler] of this.#handlers) copy.#handlers.set(host, handler);
    return copy;
  }

  /** Reports whether requests to the host are for functions of this process. */
  serves(host: string): boolean {
    return host.endsWith(DOMAIN);
  }

  /** Calls the handler of the host. Rejects as `send` of the client; with Error without a handler. */
  async send(
    host: string,
    body: Buffer,
    { maxResponseBytes, signal }: LocalCallOptions,
  ): Promise<WebhookResponse> {
    const handler = this.#handlers.get(host);
    if (handler === undefined) throw new Error(`dial tcp: lookup ${host}: no such host`);
    signal.throwIfAborted();
    let response: unknown;
    try {
      const review = parseJson(body);
      response = await Promise.race([handler(review, signal), abortOf(signal)]);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      return respond(500, 'text/plain', errorMessage(error));
    }
    const answer = respond(200, 'application/json', stringifyJson(response ?? null));
    if (answer.body.length > maxResponseBytes) throw new ResponseTooLargeError(maxResponseBytes);
    return answer;
  }
}

/** Rejects with the signal's reason when it aborts. */
function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

function respond(code: number, contentType: string, text: string): WebhookResponse {
  return { code, headers: { 'content-type': contentType }, body: Buffer.from(text) };
}
