// The desired pods that count against the node's resources.

import type { DesiredPods } from './desired-pods.ts';
import type { PodWorkers } from './pod-workers.ts';
import { isTerminal } from './status/phase.ts';
import type { StatusManager } from './status/status-manager.ts';
import { podUid, type Pod } from './types.ts';

export class ActivePods {
  readonly #desired: DesiredPods;
  readonly #workers: Pick<PodWorkers, 'couldHaveRunningContainers'>;
  readonly #statuses: Pick<StatusManager, 'get'>;

  constructor(
    desired: DesiredPods,
    workers: Pick<PodWorkers, 'couldHaveRunningContainers'>,
    statuses: Pick<StatusManager, 'get'>,
  ) {
    this.#desired = desired;
    this.#workers = workers;
    this.#statuses = statuses;
  }

  /** Returns the pods that have containers, or are about to have some. */
  list(): readonly Pod[] {
    return [...this.#desired.values()].filter((pod) => this.#isActive(pod));
  }

  #isActive(pod: Pod): boolean {
    const uid = podUid(pod);
    return (
      this.#workers.couldHaveRunningContainers(uid) ??
      !isTerminal(this.#statuses.get(uid)?.phase ?? pod.status.phase)
    );
  }
}
