// Metrics of evaluations of the Pod Security Standards, under Kubernetes' names.

import { type Counter, type Family, Instruments } from '#machinery/metrics/instruments.ts';
import type { AdmissionTarget } from '../plugin.ts';
import { NEWEST_MINOR } from './evaluation.ts';
import { type LevelVersion, minorOf, type Mode } from './policy.ts';

export interface PodSecurityMetricsConfig {
  /**
   * The version of the API server, such as 'v1.36.3'. Policies of newer versions count as 'future'.
   */
  readonly version: string;
}

const OF_REQUESTS = ['request_operation', 'resource', 'subresource'] as const;
const OPERATIONS = ['create', 'update'] as const;

export class PodSecurityMetrics {
  readonly #minor: number;
  readonly #instruments = new Instruments();
  readonly #evaluations: Family<Counter>;
  readonly #exemptions: Family<Counter>;
  readonly #errors: Family<Counter>;
  /** The counters for almost all pods. */
  readonly #privileged: Readonly<Record<(typeof OPERATIONS)[number], Counter>>;

  constructor({ version }: PodSecurityMetricsConfig) {
    this.#minor = Number(/^v1\.(\d+)/.exec(version)?.[1] ?? NEWEST_MINOR);
    this.#evaluations = this.#instruments.counter({
      name: 'pod_security_evaluations_total',
      help:
        'How many pods and templates of pods were held against a policy, of those that ' +
        'were neither ignored nor exempt.',
      labels: ['decision', 'policy_level', 'policy_version', 'mode', ...OF_REQUESTS],
    });
    this.#exemptions = this.#instruments.counter({
      name: 'pod_security_exemptions_total',
      help: 'How many requests were exempt.',
      labels: OF_REQUESTS,
    });
    this.#errors = this.#instruments.counter({
      name: 'pod_security_errors_total',
      help:
        'How often the policy of a namespace could not be had (fatal), or not be read, so ' +
        'that restricted took its place.',
      labels: ['fatal', ...OF_REQUESTS],
    });
    const privileged = (operation: string): Counter =>
      this.#evaluations.with('allow', 'privileged', 'latest', 'enforce', operation, 'pod', '');
    this.#privileged = { create: privileged('create'), update: privileged('update') };
    for (const resource of ['pod', 'controller']) {
      for (const operation of OPERATIONS) this.#exemptions.with(operation, resource, '');
    }
  }

  evaluated(
    decision: 'allow' | 'deny',
    policy: LevelVersion,
    mode: Mode,
    target: AdmissionTarget,
  ): void {
    this.#evaluations.with(
      decision,
      policy.level,
      this.#versionLabel(policy),
      mode,
      ...requestLabels(target),
    ).value++;
  }

  /** Counts a pod without requirements; the fast path. */
  privileged(target: AdmissionTarget): void {
    if (target.subresource === '')
      this.#privileged[target.operation === 'CREATE' ? 'create' : 'update'].value++;
    else this.evaluated('allow', { level: 'privileged', version: 'latest' }, 'enforce', target);
  }

  exempted(target: AdmissionTarget): void {
    this.#exemptions.with(...requestLabels(target)).value++;
  }

  failed(fatal: boolean, target: AdmissionTarget): void {
    this.#errors.with(String(fatal), ...requestLabels(target)).value++;
  }

  text(): string {
    return this.#instruments.text();
  }

  #versionLabel({ level, version }: LevelVersion): string {
    if (level === 'privileged' || version === 'latest') return 'latest';
    return minorOf(version) > this.#minor ? 'future' : version;
  }
}

function requestLabels({
  operation,
  resource,
  subresource,
}: AdmissionTarget): readonly [string, string, string] {
  const isPod = resource.group === '' && resource.resource === 'pods';
  return [operation.toLowerCase(), isPod ? 'pod' : 'controller', subresource];
}
