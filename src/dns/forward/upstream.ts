// One upstream server: sends questions to it, and tracks its health.

import { sharedByMany } from '#client/abort.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { DnsSockets, SocketAddress } from '../system/sockets.ts';
import { FLAG, HEADER_LENGTH, TYPE } from '../wire/types.ts';
import { OPT_LENGTH, writeOpt } from '../wire/encode.ts';
import type { ForwardSource } from '../configuration.ts';
import type { DnsMetrics } from '../metrics.ts';
import { skim, type Skimmed } from './skim.ts';

type UpstreamSettings = Pick<ForwardSource, 'tcp' | 'maxFailures' | 'probeIntervalMs'>;

export interface UpstreamConfig {
  readonly server: SocketAddress;
  readonly settings: UpstreamSettings;
  readonly sockets: DnsSockets;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: DnsMetrics;
}

/** A question, without the client that asks it. */
export interface Ask {
  /** The question's bytes. */
  readonly question: Buffer;
  readonly dnssecOk: boolean;
  readonly checkingDisabled: boolean;
  /**
   * Whether to retry a truncated answer over TCP. False: it stays truncated, and the client
   * decides.
   */
  readonly complete: boolean;
}

export interface UpstreamAnswer {
  readonly message: Buffer;
  readonly skimmed: Skimmed;
}

/** How long one server may take to answer, as in CoreDNS. */
const READ_TIMEOUT_MS = 2000;
/**
 * The probe: the name servers of the root. Every working server answers it, at least with REFUSED.
 */
const PROBE = Buffer.from([0, 0, TYPE.NS, 0, 1]);

export class Upstream {
  readonly #config: UpstreamConfig;
  readonly #abort = new AbortController();
  #failures = 0;
  #probing = false;
  /** Set when a question to this server arrived at this process. */
  #loops = false;
  readonly name: string;

  constructor(config: UpstreamConfig) {
    this.#config = config;
    sharedByMany(this.#abort.signal);
    const { address, port } = config.server;
    this.name = address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
  }

  get healthy(): boolean {
    return !this.#isDown && !this.#loops;
  }

  get #isDown(): boolean {
    const { maxFailures } = this.#config.settings;
    return maxFailures > 0 && this.#failures >= maxFailures;
  }

  get loops(): boolean {
    return this.#loops;
  }

  /** Takes the server out of use for good: its questions loop back to this process. */
  setLoops(): void {
    this.#loops = true;
  }

  close(): void {
    this.#abort.abort(new Error('the upstream server is no longer configured'));
  }

  /**
   * Resolves with an answer to exactly this question from exactly this server. Rejects after the
   * time limit or with the system's error.
   */
  async ask(ask: Ask): Promise<UpstreamAnswer> {
    const { clock, metrics, settings } = this.#config;
    const start = clock.monotonic();
    try {
      let answer = await this.#exchange(ask, settings.tcp);
      if (ask.complete && !settings.tcp && (answer.skimmed.flags & FLAG.TC) !== 0)
        answer = await this.#exchange(ask, true);
      this.#failures = 0;
      metrics.upstreamAnswered(this.name, answer.skimmed.rcode, (clock.monotonic() - start) / 1000);
      return answer;
    } catch (error) {
      if (!this.#abort.signal.aborted) this.#failed(error);
      throw error;
    }
  }

  async #exchange(
    { question, dnssecOk, checkingDisabled }: Ask,
    tcp: boolean,
  ): Promise<UpstreamAnswer> {
    const { sockets, server, random, clock } = this.#config;
    const id = random.int(65_536);
    const message = Buffer.alloc(HEADER_LENGTH + question.length + OPT_LENGTH);
    message.writeUInt16BE(id, 0);
    message.writeUInt16BE(FLAG.RD | (checkingDisabled ? FLAG.CD : 0), 2);
    message.writeUInt16BE(1, 4);
    message.writeUInt16BE(1, 10);
    question.copy(message, HEADER_LENGTH);
    writeOpt(message, HEADER_LENGTH + question.length, 0, dnssecOk);
    let skimmed: Skimmed | undefined;
    const accept = (answer: Buffer): boolean =>
      (skimmed = skim(answer, id, question)) !== undefined;
    const timeout = new AbortController();
    const timer = clock.setTimer(READ_TIMEOUT_MS, () =>
      timeout.abort(new Error(`no answer within ${READ_TIMEOUT_MS} ms`)),
    );
    const closed = (): void => timeout.abort(this.#abort.signal.reason);
    this.#abort.signal.addEventListener('abort', closed, { once: true });
    if (this.#abort.signal.aborted) closed();
    try {
      const ask = tcp ? sockets.askTcp : sockets.askUdp;
      const answer = await ask.call(sockets, server, message, accept, timeout.signal);
      return { message: answer, skimmed: skimmed as unknown as Skimmed };
    } finally {
      timer.cancel();
      this.#abort.signal.removeEventListener('abort', closed);
    }
  }

  #failed(err: unknown): void {
    const { logger, metrics } = this.#config;
    this.#failures++;
    if (!this.#isDown || this.#probing) return;
    logger.warn('upstream DNS server does not answer', {
      server: this.name,
      reason: errorMessage(err),
    });
    metrics.upstreamFailed(this.name);
    this.#probing = true;
    this.#probeLater();
  }

  /** Probes until the server answers. A healthy server is not probed. */
  #probeLater(): void {
    const { clock, logger, metrics, settings } = this.#config;
    const timer = clock.setTimer(settings.probeIntervalMs, () => {
      this.#abort.signal.removeEventListener('abort', cancel);
      const probe = { question: PROBE, dnssecOk: false, checkingDisabled: false, complete: false };
      this.#exchange(probe, settings.tcp).then(
        () => {
          this.#probing = false;
          this.#failures = 0;
          logger.info('upstream DNS server answers again', { server: this.name });
        },
        () => {
          if (this.#abort.signal.aborted) return;
          metrics.upstreamFailed(this.name);
          this.#probeLater();
        },
      );
    });
    const cancel = (): void => timer.cancel();
    this.#abort.signal.addEventListener('abort', cancel, { once: true });
  }
}
