// Creates the authorizer of a server: first the privileged group, then functions of this process,
// then the authorizers of the configuration, which may change while the server runs.

import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { UserInfo } from '../request.ts';
import type { WebhookClients } from '../webhooks/client/index.ts';
import { AbacAuthorizer } from './abac/abac-authorizer.ts';
import { kubeconfigAccess } from '../webhooks/review/index.ts';
import type {
  Attributes,
  AuthorizationCaller,
  Authorizer,
  Decision,
  RulesAnswer,
} from './authorizer.ts';
import type { AuthorizationMetrics } from './metrics.ts';
import { alwaysAllow, alwaysDeny } from './modes.ts';
import { NodeAuthorizer, type NodeConnections } from './node/node-authorizer.ts';
import { privilegedAuthorizer } from './privileged.ts';
import { RbacAuthorizer } from './rbac/rbac-authorizer.ts';
import type { RoleCache } from './rbac/role-cache.ts';
import { authorizerName, type AuthorizerSettings } from './settings.ts';
import { UnionAuthorizer } from './union.ts';
import { WebhookAuthorizer } from './webhook/webhook-authorizer.ts';

export interface AuthorizerServices {
  readonly roles: RoleCache;
  readonly nodeGraph: NodeConnections;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly clients: Pick<WebhookClients, 'callServer'>;
  readonly metrics: AuthorizationMetrics;
  /** The authorizer that is called before those of the configuration. Default: none. */
  readonly local?: Authorizer;
}

/** `settings` returns the same list until the configuration changes. */
export function createAuthorizer(
  settings: () => readonly AuthorizerSettings[],
  services: AuthorizerServices,
): Authorizer {
  return new ConfiguredAuthorizer(settings, services);
}

class ConfiguredAuthorizer implements Authorizer {
  readonly #settings: () => readonly AuthorizerSettings[];
  readonly #services: AuthorizerServices;
  #applied: readonly AuthorizerSettings[] | undefined;
  #authorizer: Authorizer;

  constructor(settings: () => readonly AuthorizerSettings[], services: AuthorizerServices) {
    this.#settings = settings;
    this.#services = services;
    this.#authorizer = this.#current();
  }

  authorize(attributes: Attributes, caller?: AuthorizationCaller): Decision | Promise<Decision> {
    return this.#current().authorize(attributes, caller);
  }

  rulesFor(user: UserInfo, namespace: string): RulesAnswer | Promise<RulesAnswer> {
    return this.#current().rulesFor(user, namespace);
  }

  #current(): Authorizer {
    const settings = this.#settings();
    if (settings === this.#applied) return this.#authorizer;
    const { local, metrics } = this.#services;
    this.#applied = settings;
    this.#authorizer = new UnionAuthorizer([
      privilegedAuthorizer,
      ...(local === undefined ? [] : [local]),
      ...settings.map((each) => counted(this.#make(each), each, metrics)),
    ]);
    return this.#authorizer;
  }

  #make(settings: AuthorizerSettings): Authorizer {
    const { roles, nodeGraph, ...services } = this.#services;
    switch (settings.type) {
      case 'Node':
        return new NodeAuthorizer(nodeGraph);
      case 'RBAC':
        return new RbacAuthorizer(roles);
      case 'ABAC':
        return new AbacAuthorizer(settings.policies);
      case 'AlwaysAllow':
        return alwaysAllow;
      case 'AlwaysDeny':
        return alwaysDeny;
      case 'Webhook': {
        const access = kubeconfigAccess(settings.kubeConfigFile, services.clock);
        return new WebhookAuthorizer(settings, { ...services, access });
      }
    }
  }
}

/** Counts the decisions of an authorizer. */
function counted(
  authorizer: Authorizer,
  settings: AuthorizerSettings,
  metrics: AuthorizationMetrics,
): Authorizer {
  const name = authorizerName(settings);
  const count = (decision: Decision): Decision => {
    if (decision.decision === 'allow') metrics.decided(settings.type, name, 'allowed');
    else if (decision.decision === 'deny') metrics.decided(settings.type, name, 'denied');
    return decision;
  };
  return {
    authorize(attributes, caller) {
      const decided = authorizer.authorize(attributes, caller);
      return decided instanceof Promise ? decided.then(count) : count(decided);
    },
    rulesFor: (user, namespace) => authorizer.rulesFor(user, namespace),
  };
}
