// Computes the rules of aggregated cluster roles: the rules of all roles that their selectors
// select.

import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { type ClusterRole, clusterRoles, type PolicyRule } from '#api/groups/rbac/v1/index.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';
import { reconciled, type ReconcileResult } from '#client/workqueue/index.ts';
import { semanticEqual } from '#machinery/deep.ts';
import * as labels from '#machinery/selectors/labels.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';

type ReadRole = Immutable<ClusterRole>;
type Rule = Immutable<PolicyRule>;

const NAME = 'clusterrole-aggregation-controller';

export class ClusterRoleAggregationController implements Controller {
  readonly name = NAME;
  readonly run: Controller['run'];
  readonly #config: ControllerConfig;
  readonly #roles: SharedInformer<ReadRole>;

  constructor(config: ControllerConfig) {
    this.#config = config;
    const builder = new ControllerBuilder(config, {
      queue: 'ClusterRoleAggregator',
      workers: 1,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    // A change of one role may change every role that aggregates others.
    this.#roles = builder.watches(clusterRoles, () =>
      this.#roles.lister
        .list()
        .filter(({ aggregationRule }) => aggregationRule !== undefined)
        .map(objectKey),
    );
    this.run = builder.complete();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const role = this.#roles.lister.getByKey(key);
    if (role?.aggregationRule === undefined) return reconciled;
    const rules = aggregatedRules(role, this.#roles.lister.list());
    if (semanticEqual(rules, role.rules ?? [])) return reconciled;
    const { name, uid } = role.metadata;
    // Server-side apply leaves fields of other managers alone. The UID makes sure that the role is
    // this one, not a new one with the same name.
    const configuration = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name, uid },
      rules,
    };
    await this.#config.client
      .resource(clusterRoles)
      .patch(name, 'application/apply-patch+yaml', configuration, {
        fieldManager: NAME,
        force: true,
        signal,
      });
    return reconciled;
  }
}

/**
 * Returns the rules of all roles that the selectors of `role` select: equal rules once, ordered by
 * selector, then by name of the role, then as the role has them.
 */
function aggregatedRules(role: ReadRole, all: readonly ReadRole[]): readonly Rule[] {
  const sorted = all
    .filter(({ metadata }) => metadata.name !== role.metadata.name)
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const rules = new Map<string, Rule>();
  for (const each of role.aggregationRule?.clusterRoleSelectors ?? []) {
    const selector = labels.labelSelectorAsSelector(each);
    for (const { metadata, rules: selected } of sorted) {
      if (!selector.matches(metadata.labels)) continue;
      for (const rule of selected ?? []) {
        const key = ruleKey(rule);
        if (!rules.has(key)) rules.set(key, rule);
      }
    }
  }
  return [...rules.values()];
}

/**
 * Returns a text that two rules share if and only if they are semantically equal: a missing list
 * equals an empty one.
 */
function ruleKey({ apiGroups, resources, resourceNames, nonResourceURLs, verbs }: Rule): string {
  return JSON.stringify(
    [apiGroups, resources, resourceNames, nonResourceURLs, verbs].map((list) => list ?? []),
  );
}
