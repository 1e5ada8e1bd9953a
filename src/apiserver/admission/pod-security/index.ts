// The PodSecurity plugin. Pods must comply with the Pod Security Standards that their namespace's
// labels request. A pod that violates the enforced level is rejected. A user who creates a pod, or
// an object with a pod template, that violates the warn level gets a warning. Violations of the
// audit level are annotations of the audit log.

import type { Namespace, Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import type { Clock } from '#machinery/clock.ts';
import { deepEqual } from '#machinery/deep.ts';
import { aggregateMessage } from '#machinery/validation/field.ts';
import type { Find, FindAll } from '#apiserver/catalog/internal-client.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from '../plugin.ts';
import type { PodToCheck, Violation } from './control.ts';
import { detailsText, violationsOf } from './evaluation.ts';
import { existingPodsWarnings, MAX_MS } from './existing-pods.ts';
import { ignoredNamespaceWarning } from './ignored-namespace.ts';
import type { PodSecurityMetrics } from './metrics.ts';
import {
  compareLevels,
  isFullyPrivileged,
  type LabelledPolicy,
  type Labels,
  type LevelVersion,
  levelVersionText,
  type Policy,
  policyOf,
  PRIVILEGED_POLICY,
  sameLevelVersion,
} from './policy.ts';
import { isSignificantUpdate } from './significance.ts';
import { hasTemplate, podToCheck, templateOf } from './templates.ts';

/** The users, namespaces and runtime classes without requirements. */
export interface PodSecurityExemptions {
  readonly usernames?: readonly string[];
  readonly namespaces?: readonly string[];
  readonly runtimeClasses?: readonly string[];
}

export interface PodSecurityConfig {
  /** The policy of namespaces without labels. Default: privileged, in all modes. */
  readonly defaults?: Policy;
  /** Default: no exemptions. */
  readonly exemptions?: PodSecurityExemptions;
}

export interface PodSecurityServices {
  readonly find: Find;
  readonly findAll: FindAll;
  readonly clock: Clock;
  readonly podSecurityMetrics: PodSecurityMetrics;
  readonly podSecurity?: PodSecurityConfig;
}

/** Subresources whose writes cannot change a field that the standards restrict. */
const IGNORED_SUBRESOURCES: ReadonlySet<string> = new Set([
  'attach',
  'binding',
  'eviction',
  'exec',
  'log',
  'portforward',
  'proxy',
  'status',
]);

const NO_LABELS: Labels = {};

export class PodSecurity implements AdmissionPlugin {
  readonly name = 'PodSecurity';
  readonly #services: PodSecurityServices;
  readonly #metrics: PodSecurityMetrics;
  readonly #defaults: Policy;
  readonly #exempt: Readonly<Record<keyof PodSecurityExemptions, ReadonlySet<string>>>;
  /** Parsed policies by the namespaces' labels, which are read often. */
  readonly #policies = new WeakMap<Labels, LabelledPolicy>();

  constructor(services: PodSecurityServices) {
    const { defaults = PRIVILEGED_POLICY, exemptions = {} } = services.podSecurity ?? {};
    this.#services = services;
    this.#metrics = services.podSecurityMetrics;
    this.#defaults = defaults;
    this.#exempt = {
      usernames: new Set(exemptions.usernames),
      namespaces: new Set(exemptions.namespaces),
      runtimeClasses: new Set(exemptions.runtimeClasses),
    };
  }

  concerns({ operation, resource, subresource }: AdmissionTarget): boolean {
    if (operation !== 'CREATE' && operation !== 'UPDATE') return false;
    if (isPods(resource)) return !IGNORED_SUBRESOURCES.has(subresource);
    return subresource === '' && (isNamespaces(resource) || hasTemplate(resource));
  }

  validate(attributes: AdmissionAttributes): Awaitable<void> {
    if (isNamespaces(attributes.resource)) return this.#validateNamespace(attributes);
    const { namespace, user } = attributes;
    const isExemptNamespace = this.#exempt.namespaces.has(namespace);
    if (isExemptNamespace || this.#exempt.usernames.has(user.name)) {
      annotate(attributes, 'exempt', isExemptNamespace ? 'namespace' : 'user');
      this.#metrics.exempted(attributes);
      return undefined;
    }
    const lookup = this.#services.find<Immutable<Namespace>>('', 'namespaces', '', namespace);
    return andThen(lookup, (it) =>
      isPods(attributes.resource)
        ? this.#validatePod(attributes, it)
        : this.#validateTemplate(attributes, it),
    );
  }

  #policyOf({ metadata: { labels = NO_LABELS } }: Immutable<Namespace>): LabelledPolicy {
    let policy = this.#policies.get(labels);
    if (policy === undefined) {
      policy = policyOf(labels, this.#defaults);
      this.#policies.set(labels, policy);
    }
    return policy;
  }

  #validatePod(attributes: AdmissionAttributes, namespace: Immutable<Namespace> | undefined): void {
    if (namespace === undefined) {
      this.#metrics.failed(true, attributes);
      throw apierrors.internalError(
        `failed to lookup namespace ${JSON.stringify(attributes.namespace)}`,
      );
    }
    const labelledPolicy = this.#policyOf(namespace);
    if (labelledPolicy.errors.length === 0 && isFullyPrivileged(labelledPolicy.policy)) {
      annotate(attributes, 'enforce-policy', levelVersionText(labelledPolicy.policy.enforce));
      this.#metrics.privileged(attributes);
      return;
    }
    const pod = attributes.object as Immutable<Pod>;
    const old = attributes.oldObject as Immutable<Pod> | undefined;
    if (attributes.operation === 'UPDATE' && old !== undefined && !isSignificantUpdate(pod, old))
      return;
    this.#evaluate(attributes, podToCheck(pod), labelledPolicy, true);
  }

  /** Checks an object with a pod template. It is never rejected, since its pods are. */
  #validateTemplate(
    attributes: AdmissionAttributes,
    namespace: Immutable<Namespace> | undefined,
  ): void {
    if (namespace === undefined) {
      this.#metrics.failed(true, attributes);
      return;
    }
    const policyOfNamespace = this.#policyOf(namespace);
    const { audit, warn } = policyOfNamespace.policy;
    if (
      policyOfNamespace.errors.length === 0 &&
      audit.level === 'privileged' &&
      warn.level === 'privileged'
    )
      return;
    const template = templateOf(attributes.resource, attributes.object!);
    if (template !== undefined) this.#evaluate(attributes, template, policyOfNamespace, false);
  }

  #evaluate(
    attributes: AdmissionAttributes,
    pod: PodToCheck,
    asked: LabelledPolicy,
    isPod: boolean,
  ): void {
    if (this.#exempt.runtimeClasses.has(pod.spec.runtimeClassName ?? '')) {
      annotate(attributes, 'exempt', 'runtimeClass');
      this.#metrics.exempted(attributes);
      return;
    }
    if (asked.errors.length > 0) {
      const errors = aggregateMessage(asked.errors);
      annotate(attributes, 'error', `Failed to parse policy: ${errors}`);
      this.#metrics.failed(false, attributes);
    }
    const { enforce, audit, warn } = asked.policy;
    const results = new Map<string, readonly Violation[]>();
    const evaluate = (policy: LevelVersion): readonly Violation[] => {
      const key = levelVersionText(policy);
      const violations = results.get(key) ?? violationsOf(pod, policy);
      results.set(key, violations);
      return violations;
    };
    const refusing = isPod ? evaluate(enforce) : [];
    if (isPod) annotate(attributes, 'enforce-policy', levelVersionText(enforce));
    if (isPod)
      this.#metrics.evaluated(
        refusing.length > 0 ? 'deny' : 'allow',
        enforce,
        'enforce',
        attributes,
      );
    const audited = evaluate(audit);
    if (audited.length > 0) {
      const text = `would violate ${policyAndDetails(audit, audited)}`;
      annotate(attributes, 'audit-violations', text);
      this.#metrics.evaluated('deny', audit, 'audit', attributes);
    }
    if (refusing.length > 0) {
      throw apierrors.forbidden(
        attributes.resource,
        attributes.name,
        `violates ${policyAndDetails(enforce, refusing)}`,
      );
    }
    const warnings = evaluate(warn);
    if (warnings.length === 0) return;
    this.#metrics.evaluated('deny', warn, 'warn', attributes);
    attributes.warnings.push(`would violate ${policyAndDetails(warn, warnings)}`);
  }

  #validateNamespace(attributes: AdmissionAttributes): Awaitable<void> {
    const namespace = attributes.object as Immutable<Namespace>;
    const { policy, errors } = this.#policyOf(namespace);
    const old =
      attributes.operation === 'UPDATE'
        ? this.#policyOf(attributes.oldObject as Immutable<Namespace>)
        : undefined;
    // Labels that were invalid before may stay so until they are changed.
    if (errors.length > 0 && (old === undefined || !deepEqual(errors, old.errors))) {
      throw apierrors.invalid({ group: '', kind: 'Namespace' }, attributes.name, errors);
    }
    if (old !== undefined && !isTightened(old.policy.enforce, policy.enforce)) return undefined;
    const { name } = namespace.metadata;
    if (this.#exempt.namespaces.has(name)) {
      const warning = ignoredNamespaceWarning(namespace, policy, this.#defaults);
      if (warning !== undefined) attributes.warnings.push(warning);
      return undefined;
    }
    if (old === undefined) return undefined;
    const pods = this.#services.findAll<Immutable<Pod>>('', 'pods', name);
    return andThen(
      pods,
      (all) => void attributes.warnings.push(...this.#existingPods(name, all, policy.enforce)),
    );
  }

  #existingPods(
    namespace: string,
    pods: readonly Immutable<Pod>[],
    enforce: LevelVersion,
  ): readonly string[] {
    const { clock } = this.#services;
    const due = clock.monotonic() + MAX_MS;
    return existingPodsWarnings({
      namespace,
      pods: pods.filter(
        ({ spec }) => !this.#exempt.runtimeClasses.has(spec.runtimeClassName ?? ''),
      ),
      enforce,
      violationsOf: (pod) => violationsOf(podToCheck(pod), enforce),
      isLate: () => clock.monotonic() > due,
    });
  }
}

function annotate({ caller }: AdmissionAttributes, key: string, value: string): void {
  caller?.audit?.annotate(`pod-security.kubernetes.io/${key}`, value);
}

function policyAndDetails(policy: LevelVersion, violations: readonly Violation[]): string {
  return `PodSecurity ${JSON.stringify(levelVersionText(policy))}: ${detailsText(violations)}`;
}

/** Reports whether pods that the old policy admitted might be rejected by the new one. */
function isTightened(old: LevelVersion, current: LevelVersion): boolean {
  if (sameLevelVersion(old, current) || current.level === 'privileged') return false;
  return old.version !== current.version || compareLevels(current.level, old.level) > 0;
}

function isPods({ group, resource }: AdmissionTarget['resource']): boolean {
  return group === '' && resource === 'pods';
}

function isNamespaces({ group, resource }: AdmissionTarget['resource']): boolean {
  return group === '' && resource === 'namespaces';
}
