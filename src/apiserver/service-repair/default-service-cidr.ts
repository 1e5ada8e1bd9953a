// The ServiceCIDR `kubernetes`: the range in the server's configuration. It is created when it is
// missing, also later. A different existing one is not changed, and reported once.

import { type ServiceCIDR, serviceCIDRs } from '#api/groups/networking/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { Recorder } from '#client/events/index.ts';
import { formatTime } from '#machinery/text/time.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { deepEqual } from '#machinery/deep.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';

export const DEFAULT_SERVICE_CIDR = 'kubernetes';
const ERROR = 'KubernetesDefaultServiceCIDRError';

export interface DefaultServiceCidrConfig {
  /** The server's own client. */
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly recorder: Recorder;
  /** The configured range, or one of each family. */
  readonly cidrs: readonly string[];
}

export class DefaultServiceCidr {
  readonly #config: DefaultServiceCidrConfig;
  #reportedMismatch = false;
  #reportedNotReady = false;

  constructor(config: DefaultServiceCidrConfig) {
    this.#config = config;
  }

  /** Creates the range, or adds a second family to it. May be called at any time. */
  async sync(): Promise<void> {
    const { client, cidrs } = this.#config;
    const all = client.resource(serviceCIDRs);
    let range: Immutable<ServiceCIDR>;
    try {
      range = await all.get(DEFAULT_SERVICE_CIDR);
    } catch (error) {
      if (!apierrors.isNotFound(error)) throw error;
      // Another server may have created it; then this is retried.
      range = await all.create({
        metadata: { name: DEFAULT_SERVICE_CIDR },
        spec: { cidrs: [...cidrs] },
      });
    }
    const present = range.spec.cidrs ?? [];
    if (present.length === 1 && cidrs.length === 2 && present[0] === cidrs[0]) {
      try {
        range = await all.update({ ...range, spec: { ...range.spec, cidrs: [...cidrs] } });
      } catch (error) {
        const message = errorMessage(error);
        this.#warn(
          range,
          ERROR,
          `The default ServiceCIDR can not be upgraded from ${cidrs[0]} to dual stack ${listed(cidrs)} : ${message}`,
        );
        throw error;
      }
    }
    // The controller handles its deletion.
    if (range.metadata.deletionTimestamp === undefined) await this.#syncStatus(range);
  }

  async #syncStatus(range: Immutable<ServiceCIDR>): Promise<void> {
    const { client, clock, cidrs, logger } = this.#config;
    const present = range.spec.cidrs ?? [];
    if (!deepEqual(present, cidrs)) {
      if (this.#reportedMismatch) return;
      this.#reportedMismatch = true;
      logger.warn('the ServiceCIDR kubernetes differs from the service range of this server', {
        stored: present,
        given: cidrs,
      });
      this.#warn(
        range,
        'KubernetesDefaultServiceCIDRInconsistent',
        `The default ServiceCIDR ${listed(present)} does not match the controller flag configurations ${listed(cidrs)}`,
      );
      return;
    }
    const ready = range.status.conditions?.find(({ type }) => type === 'Ready');
    if (ready?.status === 'True') return;
    if (ready?.status === 'False') {
      // The condition was set to False on purpose.
      if (!this.#reportedNotReady)
        this.#warn(range, ready.reason, `Configuration matches, but ${ready.message}`);
      this.#reportedNotReady = true;
      return;
    }
    const condition = {
      type: 'Ready',
      status: 'True' as const,
      lastTransitionTime: formatTime(clock.now()),
      reason: '',
      message: 'Kubernetes default Service CIDR is ready',
    };
    const others = (range.status.conditions ?? []).filter(({ type }) => type !== 'Ready');
    try {
      await client
        .resource(serviceCIDRs)
        .updateStatus({ ...range, status: { conditions: [...others, condition] } });
    } catch (error) {
      // The controller manager may write the condition concurrently.
      if (!apierrors.isConflict(error) && !apierrors.isNotFound(error)) {
        this.#warn(range, ERROR, 'The default ServiceCIDR Status can not be set to Ready=True');
      }
      throw error;
    }
  }

  #warn(range: Immutable<ServiceCIDR>, reason: string, message: string): void {
    const subject = {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'ServiceCIDR',
      metadata: range.metadata,
    };
    this.#config.recorder.event(subject, 'Warning', reason, message);
  }
}

const listed = (cidrs: readonly string[]): string => `[${cidrs.join(' ')}]`;
