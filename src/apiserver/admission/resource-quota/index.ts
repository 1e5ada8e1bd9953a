// Rejects objects that exceed a quota of their namespace. An admitted object is charged at once, in
// the quota's status, so that two requests cannot both take the rest of it. The quota controller
// recomputes the usage after deletions.

import {
  evaluatorOf,
  isUncounted,
  listOf,
  type QuotaFacts,
} from '#api/groups/core/v1/quota/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import type { AdmissionServices } from '../services.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from '../plugin.ts';
import type { LimitedResource } from '../configuration.ts';
import { chargeOf, interestOf, type ReadQuota } from './charge.ts';
import { type FactSources, factsFor } from './facts.ts';
import { coverageProblem } from './limited-resources.ts';

type Services = FactSources & Pick<AdmissionServices, 'updateStatus' | 'plugins'>;

export class ResourceQuotaAdmission implements AdmissionPlugin {
  readonly name = 'ResourceQuota';
  readonly #services: Services;
  readonly #limited: readonly LimitedResource[];

  constructor(services: Services) {
    this.#services = services;
    this.#limited = services.plugins?.limitedResources ?? [];
  }

  concerns({ operation, subresource, resource }: AdmissionTarget): boolean {
    if ((resource.group === '' && resource.resource === 'namespaces') || isUncounted(resource))
      return false;
    return evaluatorOf(resource).handles(operation, subresource);
  }

  handles({ namespace }: AdmissionAttributes): boolean {
    return namespace !== '';
  }

  validate(attributes: AdmissionAttributes): Awaitable<void> {
    const { operation, subresource, resource, object, oldObject } = attributes;
    if (
      operation === 'UPDATE' &&
      evaluatorOf(resource).handlesUpdate?.(subresource, object, oldObject) === false
    )
      return;
    const listing = this.#services.findAll<ReadQuota>('', 'resourcequotas', attributes.namespace);
    return andThen(listing, (quotas) =>
      quotas.length === 0 && this.#limited.length === 0
        ? undefined
        : this.#charge(attributes, quotas),
    );
  }

  async #charge(attributes: AdmissionAttributes, quotas: readonly ReadQuota[]): Promise<void> {
    const { namespace, resource, dryRun, object } = attributes;
    const evaluator = evaluatorOf(resource);
    const facts = await factsFor(this.#services, attributes);
    const refusal = (message: string): Error =>
      apierrors.forbidden(resource, attributes.name || (object?.metadata.name ?? ''), message);
    const uncovered = this.#coverageProblem(attributes, quotas, facts);
    if (uncovered !== undefined) throw refusal(uncovered);
    const charge = (quota: ReadQuota): ReadQuota => {
      const result = chargeOf(quota, evaluator, attributes, facts);
      if (result.kind === 'none') return quota;
      if (result.kind === 'charged')
        return { ...quota, status: { ...quota.status, used: listOf(result.used) } };
      throw refusal(result.message);
    };
    // Every quota must have room before any is charged.
    const charged = quotas.filter((quota) => charge(quota) !== quota);
    if (dryRun) return;
    for (const { metadata } of charged) {
      await this.#services.updateStatus<ReadQuota>(
        '',
        'resourcequotas',
        namespace,
        metadata.name,
        charge,
      );
    }
  }

  /** Returns why the request lacks a quota that it needs; undefined if it does not. */
  #coverageProblem(
    attributes: AdmissionAttributes,
    quotas: readonly ReadQuota[],
    facts: QuotaFacts,
  ): string | undefined {
    if (this.#limited.length === 0) return undefined;
    const evaluator = evaluatorOf(attributes.resource);
    const interests = quotas.map((quota) => interestOf(quota, evaluator, attributes, facts));
    const refused = interests.find((each) => each.kind === 'refused');
    if (refused !== undefined) return refused.message;
    return coverageProblem(this.#limited, quotas, interests, evaluator, attributes, facts);
  }
}
