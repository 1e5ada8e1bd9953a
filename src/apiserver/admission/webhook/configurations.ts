// The configured webhooks, in memory: the registry is followed, so that requests need no lookups.
// Match conditions are compiled when a request first needs them, and again only after their
// configuration has changed.

import { ExpressionCompiler } from '#api/groups/admissionregistration/v1/expressions.ts';
import type * as admission from '#api/groups/admissionregistration/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { type Keeper, keyOf } from '#apiserver/catalog/follow.ts';
import { LazyFollower } from '../lazy-follower.ts';
import type { AdmissionAttributes } from '../plugin.ts';
import type { Expression } from '../policy/evaluation.ts';
import { type MatchResources, mayMatch } from '../policy/matching.ts';
import { PolicyRequest } from '../policy/request.ts';
import type { WebhookType } from './metrics.ts';
import type { WebhookServices } from './services.ts';

/** A webhook of either kind. */
export type Webhook = Immutable<
  admission.ValidatingWebhook & Pick<admission.MutatingWebhook, 'reinvocationPolicy'>
>;

interface Configuration extends KubeObject {
  readonly webhooks?: readonly Webhook[];
}

/** One webhook of a configuration. */
export interface Hook {
  /** Identifies the webhook among those of all configurations. */
  readonly id: string;
  readonly type: WebhookType;
  /** The name of its configuration. */
  readonly configuration: string;
  readonly webhook: Webhook;
  /** The requests that the webhook matches, in the form that policies use. */
  readonly match: MatchResources;
  readonly conditions: readonly Expression[];
}

export class WebhookConfigurations {
  readonly #services: WebhookServices;
  readonly #type: WebhookType;
  readonly #follower: LazyFollower;
  /** Webhooks by the name of their configuration. */
  readonly #hooks = new Map<string, readonly Hook[]>();
  #sorted: readonly Hook[] | undefined = [];

  constructor(services: WebhookServices, { group, resource }: ResourceType, type: WebhookType) {
    this.#services = services;
    this.#type = type;
    this.#follower = new LazyFollower(services, (follower) =>
      follower.follow(group, resource, this.#keeper()),
    );
  }

  /**
   * Reports whether a webhook might apply to a request, whatever its name and its content are: there
   * is one whose rules match, or the configurations are not loaded yet.
   */
  mayApply(attributes: AdmissionAttributes): boolean {
    if (!this.#follower.started) return true;
    const hooks = this.#inOrder();
    if (hooks.length === 0) return false;
    const request = new PolicyRequest(attributes, this.#services);
    return hooks.some(({ match }) => hasRules(match) && mayMatch(match, request));
  }

  /**
   * Resolves with the webhooks in upstream's order: by the names of their configurations. Rejects
   * with the errors of LazyFollower.ready.
   */
  async hooksFor(attributes: AdmissionAttributes): Promise<readonly Hook[]> {
    if (!this.#follower.started) await this.#follower.ready(attributes);
    return this.#inOrder();
  }

  #inOrder(): readonly Hook[] {
    this.#sorted ??= [...this.#hooks]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([, hooks]) => hooks);
    return this.#sorted;
  }

  #keeper(): Keeper {
    return {
      set: (object) => {
        const hooks = this.#hooksOf(object);
        if (hooks.length === 0) this.#hooks.delete(keyOf(object));
        else this.#hooks.set(keyOf(object), hooks);
        this.#sorted = undefined;
      },
      delete: (key) => {
        this.#hooks.delete(key);
        this.#sorted = undefined;
      },
    };
  }

  #hooksOf({ metadata, webhooks = [] }: Configuration): readonly Hook[] {
    const { celMetrics } = this.#services;
    return webhooks.map((webhook, index) => {
      const {
        rules,
        matchPolicy,
        namespaceSelector,
        objectSelector,
        matchConditions = [],
      } = webhook;
      let conditions: readonly Expression[] | undefined =
        matchConditions.length === 0 ? [] : undefined;
      return {
        id: `${metadata.name}/${index}/${webhook.name}`,
        type: this.#type,
        configuration: metadata.name,
        webhook,
        match: { resourceRules: rules, matchPolicy, namespaceSelector, objectSelector },
        get conditions() {
          conditions ??= celMetrics.compile(() => compileConditions(matchConditions));
          return conditions;
        },
      };
    });
  }
}

/** Reports whether there are rules: a webhook without any matches nothing, unlike a policy. */
export function hasRules({ resourceRules }: MatchResources): boolean {
  return (resourceRules ?? []).length > 0;
}

function compileConditions(
  conditions: readonly Immutable<admission.MatchCondition>[],
): readonly Expression[] {
  const compiler = new ExpressionCompiler();
  return conditions.map(({ expression }) => ({
    source: expression,
    compiled: compiler.compile(expression, 'matchCondition'),
  }));
}
