// Runs a single probe.

import { outsideWork } from '#machinery/pending-work.ts';
import { isCriError, type RuntimeService } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { formatDuration } from '#machinery/text/duration.ts';
import { quote } from '#machinery/text/go-format.ts';
import { errorMessage } from '#machinery/error-message.ts';
import {
  actionTarget,
  address,
  BodyError,
  httpGet,
  NetworkError,
  resolvePort,
  tcpConnect,
} from '../handlers/network.ts';
import { TimeoutError, withTimeout } from '../handlers/timeout.ts';
import type { Container, Probe } from '../types.ts';

export type ProbeOutcome =
  | { readonly result: 'success' }
  /** The probe counts as a success, with a warning event. */
  | { readonly result: 'warning'; readonly message: string }
  /** The probe has failed, with the reason. */
  | { readonly result: 'failure'; readonly message: string }
  /** The probe could not be run; it counts as a failure. */
  | { readonly result: 'error'; readonly message: string; readonly state?: 'failure' | 'unknown' };

export interface ProbeTarget {
  readonly container: Container;
  readonly containerId: string;
  readonly podIP: string;
}

export interface ProbeRunnerConfig {
  readonly runtime: RuntimeService;
  readonly clock: Clock;
  readonly userAgent: string;
  /**
   * False: pods have no reachable network (see KubeletConfig.podNetwork), so that calls always
   * succeed.
   */
  readonly podNetwork: boolean;
}

const SUCCESS: ProbeOutcome = { result: 'success' };
/** How long the runtime may take to report that a command was killed at its timeout. */
const EXEC_SLACK_MS = 10_000;

export class ProbeRunner {
  readonly #config: ProbeRunnerConfig;

  constructor(config: ProbeRunnerConfig) {
    this.#config = config;
  }

  /** Runs the probe. Rejects only with the signal's reason, when the caller aborts. */
  async run(probe: Probe, target: ProbeTarget, signal: AbortSignal): Promise<ProbeOutcome> {
    const timeoutMs = (probe.timeoutSeconds ?? 1) * 1000;
    try {
      if (probe.exec !== undefined)
        return await this.#exec(probe.exec.command ?? [], target, timeoutMs, signal);
      if (
        !this.#config.podNetwork &&
        (probe.httpGet ?? probe.tcpSocket ?? probe.grpc) !== undefined
      )
        return SUCCESS;
      if (probe.httpGet !== undefined) return await this.#http(probe, target, timeoutMs, signal);
      if (probe.tcpSocket !== undefined) return await this.#tcp(probe, target, timeoutMs, signal);
      if (probe.grpc !== undefined) return await this.#grpc(probe.grpc, target, timeoutMs, signal);
      return { result: 'error', message: `missing probe handler for ${target.container.name}` };
    } catch (error) {
      signal.throwIfAborted();
      const message = errorMessage(error);
      return { result: error instanceof NetworkError ? 'failure' : 'error', message };
    }
  }

  async #exec(
    command: readonly string[],
    target: ProbeTarget,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<ProbeOutcome> {
    try {
      const { clock, runtime } = this.#config;
      const result = await withTimeout(clock, timeoutMs + EXEC_SLACK_MS, signal, (expired) =>
        runtime.execSync(target.containerId, command, { timeoutMs, signal: expired }),
      );
      if (result.exitCode === 0) return SUCCESS;
      return {
        result: 'failure',
        message: Buffer.concat([result.stdout, result.stderr])
          .subarray(0, 10 * 1024)
          .toString('utf8'),
      };
    } catch (error) {
      if (!isCriError(error, 'DeadlineExceeded') && !(error instanceof TimeoutError)) throw error;
      const seconds = Math.round(timeoutMs / 1000);
      return {
        result: 'failure',
        message: `command timed out: ${quote(command.join(' '))} timed out after ${seconds}s`,
      };
    }
  }

  async #http(
    probe: Probe,
    target: ProbeTarget,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<ProbeOutcome> {
    const action = probe.httpGet;
    if (action === undefined) return SUCCESS;
    const wanted = actionTarget(action, target.container, target.podIP);
    try {
      const { statusCode, body } = await withTimeout(
        this.#config.clock,
        timeoutMs,
        signal,
        (expired) => httpGet(wanted, action, this.#config.userAgent, expired),
      );
      if (statusCode >= 200 && statusCode < 300) return SUCCESS;
      if (statusCode >= 300 && statusCode < 400)
        return { result: 'warning', message: `Probe terminated redirects, Response body: ${body}` };
      return { result: 'failure', message: `HTTP probe failed with statuscode: ${statusCode}` };
    } catch (error) {
      if (error instanceof BodyError)
        return { result: 'error', message: error.message, state: 'failure' };
      if (!(error instanceof TimeoutError)) throw error;
      const words = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';
      return { result: 'failure', message: `Get "${wanted.text}": ${words}` };
    }
  }

  async #grpc(
    { port, service }: NonNullable<Probe['grpc']>,
    target: ProbeTarget,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<ProbeOutcome> {
    const peer = address(target.podIP, port);
    // Few pods have such probes, and the library is large.
    const { grpcHealth } = await outsideWork(import('./grpc-probe.ts'));
    let connected = false;
    try {
      await withTimeout(this.#config.clock, timeoutMs, signal, (expired) =>
        grpcHealth(peer, service ?? '', this.#config.userAgent, expired, () => (connected = true)),
      );
      return SUCCESS;
    } catch (error) {
      if (!(error instanceof TimeoutError)) throw error;
      const within = `within ${formatDuration(timeoutMs)}`;
      const message = connected
        ? `timeout: health rpc did not complete ${within}`
        : `timeout: failed to connect service ${quote(peer)} ${within}: context deadline exceeded`;
      return { result: 'failure', message };
    }
  }

  async #tcp(
    probe: Probe,
    target: ProbeTarget,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<ProbeOutcome> {
    const host = probe.tcpSocket?.host ?? target.podIP;
    const port = resolvePort(probe.tcpSocket?.port ?? 0, target.container);
    try {
      await withTimeout(this.#config.clock, timeoutMs, signal, (expired) =>
        tcpConnect(host, port, expired),
      );
      return SUCCESS;
    } catch (error) {
      if (!(error instanceof TimeoutError)) throw error;
      return { result: 'failure', message: `dial tcp ${address(host, port)}: i/o timeout` };
    }
  }
}
