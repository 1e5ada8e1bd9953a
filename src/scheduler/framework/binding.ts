// Binding: from Reserve to PostBind, for a pod whose node is chosen. The plugins of one profile.

import type { Clock } from '#machinery/clock.ts';
import type { CycleState } from './cycle-state.ts';
import type { FrameworkMetrics } from './metrics.ts';
import type { Answer, Plugin, PreBindPlugin } from './plugin.ts';
import { asError, type PluginCalls } from './plugin-calls.ts';
import type { PodInfo } from './pod-info.ts';
import { codeOf, Status } from './status.ts';
import { WaitingPod, type WaitingPods } from './waiting-pods.ts';

/** The maximum time for which Permit may delay a pod. */
const MAX_PERMIT_TIMEOUT_MS = 15 * 60_000;

const NO_PRE_BINDS: readonly PreBindPlugin[] = [];

export interface BindingConfig {
  readonly profileName: string;
  readonly clock: Clock;
  readonly waitingPods: WaitingPods;
  /** Default: no metrics. */
  readonly metrics?: FrameworkMetrics;
}

export class Binding {
  readonly #calls: PluginCalls;
  readonly #profileName: string;
  readonly #clock: Clock;
  readonly #waitingPods: WaitingPods;
  readonly #metrics: FrameworkMetrics | undefined;

  constructor(calls: PluginCalls, { profileName, clock, waitingPods, metrics }: BindingConfig) {
    this.#calls = calls;
    this.#profileName = profileName;
    this.#clock = clock;
    this.#waitingPods = waitingPods;
    this.#metrics = metrics;
  }

  /** Runs Reserve. If a plugin fails, runUnreserve must be called. */
  runReserve(state: CycleState, pod: PodInfo, node: string): Answer {
    const start = this.#calls.now();
    const answer = this.#reserve(state, pod, node);
    this.#calls.pointRan('Reserve', codeOf(answer), start);
    return answer;
  }

  #reserve(state: CycleState, pod: PodInfo, node: string): Answer {
    for (const plugin of this.#calls.of(state).reserve) {
      const answer = plugin.reserve(state, pod, node);
      if (answer !== undefined)
        return answer.rejected
          ? answer.withPlugin(plugin.name)
          : asError(answer, plugin, 'Reserve');
    }
    return undefined;
  }

  /** Runs Unreserve, in the reverse order of Reserve. */
  runUnreserve(state: CycleState, pod: PodInfo, node: string): void {
    const start = this.#calls.now();
    for (const plugin of this.#calls.of(state).reserve.toReversed())
      plugin.unreserve(state, pod, node);
    this.#calls.pointRan('Unreserve', 'Success', start);
  }

  /** Runs Permit. A status with the code Wait: the pod waits, see waitOnPermit. */
  runPermit(state: CycleState, pod: PodInfo, node: string): Answer {
    const start = this.#calls.now();
    const answer = this.#permit(state, pod, node);
    this.#calls.pointRan('Permit', codeOf(answer), start);
    return answer;
  }

  #permit(state: CycleState, pod: PodInfo, node: string): Answer {
    let timeouts: Map<string, number> | undefined;
    for (const plugin of this.#calls.of(state).permit) {
      const { status, timeoutMs } = plugin.permit(state, pod, node);
      if (status === undefined) continue;
      if (status.code === 'Wait') {
        timeouts ??= new Map();
        timeouts.set(
          plugin.name,
          Math.min(timeoutMs ?? MAX_PERMIT_TIMEOUT_MS, MAX_PERMIT_TIMEOUT_MS),
        );
      } else {
        return status.rejected ? status.withPlugin(plugin.name) : asError(status, plugin, 'Permit');
      }
    }
    if (timeouts === undefined) return undefined;
    this.#waitingPods.add(new WaitingPod(pod, timeouts, this.#clock));
    return new Status('Wait', [
      `one or more plugins asked to wait and no plugin rejected pod "${pod.pod.metadata.name}"`,
    ]);
  }

  /** Waits for Permit. Returns undefined for a pod that does not wait. */
  waitOnPermit(pod: PodInfo): Promise<Answer> | undefined {
    const waiting = this.#waitingPods.get(pod.uid);
    if (waiting === undefined) return undefined;
    const start = this.#calls.now();
    void waiting.done.then((status) => this.#metrics?.permitWaited(codeOf(status), start));
    return waiting.done;
  }

  /** Returns the PreBind plugins that are needed for the pod; or a status after an error. */
  neededPreBinds(state: CycleState, pod: PodInfo, node: string): readonly PreBindPlugin[] | Status {
    let needed: PreBindPlugin[] | undefined;
    for (const plugin of this.#calls.of(state).preBind) {
      const answer = plugin.preBindPreFlight?.(state, pod, node);
      if (answer?.code === 'Skip') continue;
      if (answer !== undefined) return asError(answer, plugin, 'PreBindPreFlight');
      needed ??= [];
      needed.push(plugin);
    }
    return needed ?? NO_PRE_BINDS;
  }

  /** Runs PreBind. `plugins`: from neededPreBinds. */
  async runPreBind(
    plugins: readonly PreBindPlugin[],
    state: CycleState,
    pod: PodInfo,
    node: string,
    signal: AbortSignal,
  ): Promise<Answer> {
    const start = this.#calls.now();
    let outcome: Answer;
    for (const plugin of plugins) {
      const answer = await plugin.preBind(state, pod, node, signal);
      if (answer === undefined) continue;
      outcome = answer.rejected
        ? answer.withPlugin(plugin.name)
        : asError(answer, plugin, 'PreBind');
      break;
    }
    this.#calls.pointRan('PreBind', codeOf(outcome), start);
    return outcome;
  }

  /**
   * Runs Bind: the first plugin that does not skip binds. An exception becomes an Error status with
   * it as the cause.
   */
  async runBind(
    state: CycleState,
    pod: PodInfo,
    node: string,
    signal: AbortSignal,
  ): Promise<Answer> {
    const start = this.#calls.now();
    const answer = await this.#bind(state, pod, node, signal);
    this.#calls.pointRan('Bind', codeOf(answer), start);
    return answer;
  }

  async #bind(state: CycleState, pod: PodInfo, node: string, signal: AbortSignal): Promise<Answer> {
    for (const plugin of this.#calls.of(state).bind) {
      const answer = await bound(plugin, () => plugin.bind(state, pod, node, signal));
      if (answer?.code !== 'Skip') return answer;
    }
    return Status.error(`no Bind plugin of profile "${this.#profileName}" binds pod ${pod.key}`);
  }

  runPostBind(state: CycleState, pod: PodInfo, node: string): void {
    const start = this.#calls.now();
    for (const plugin of this.#calls.of(state).postBind) plugin.postBind(state, pod, node);
    this.#calls.pointRan('PostBind', 'Success', start);
  }
}

async function bound(plugin: Plugin, bind: () => Promise<Answer>): Promise<Answer> {
  try {
    const answer = await bind();
    return answer === undefined || answer.code === 'Skip'
      ? answer
      : asError(answer, plugin, 'Bind');
  } catch (error) {
    return asError(Status.error(error), plugin, 'Bind');
  }
}
