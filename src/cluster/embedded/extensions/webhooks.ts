// `cluster.webhooks`: admission, conversion and authorization by functions of this process.
// Admission and conversion are configured by the objects that configure every webhook, whose URL
// leads to the function.

import {
  mutatingWebhookConfigurations,
  type OperationType,
  type RuleWithOperations,
  validatingWebhookConfigurations,
} from '#api/groups/admissionregistration/v1/index.ts';
import { customResourceDefinitions } from '#api/groups/apiextensions/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { LocalAuthorizer } from '#apiserver/authorization/local-authorizer.ts';
import type { LocalWebhooks } from '#apiserver/webhooks/client/index.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { reviewAdmission } from './admission.ts';
import { reviewConversion } from './conversion.ts';
import type { InstalledHandler, MutatingHandler, MutationOptions, Webhooks } from './types.ts';

export interface WebhooksConfig {
  readonly client: Client;
  readonly local: LocalWebhooks;
  readonly authorizer: LocalAuthorizer;
}

export function makeWebhooks({ client, local, authorizer }: WebhooksConfig): Webhooks {
  let count = 0;
  const nextName = (verb: string): string => `${verb}-${String(++count).padStart(4, '0')}`;

  const admission = async <T extends KubeObject>(
    verb: 'mutate' | 'validate',
    given: ResourceType<T> | readonly ResourceType<T>[],
    handler: MutatingHandler<T>,
    options: MutationOptions,
  ): Promise<InstalledHandler> => {
    const types = Array.isArray(given)
      ? (given as readonly ResourceType<T>[])
      : [given as ResourceType<T>];
    const { operations, subresources, name: chosen, ...rest } = options;
    const own = nextName(verb);
    const name = chosen ?? defaultName(own, types[0]);
    const mutating = verb === 'mutate';
    const { url, remove } = local.add(own, (review, signal) =>
      reviewAdmission(review, handler, { mutating, signal }),
    );
    const resource = client.resource(
      mutating ? mutatingWebhookConfigurations : validatingWebhookConfigurations,
    );
    const rules = types.map((type) => ruleOf(type, operations, subresources));
    const webhook = {
      sideEffects: 'None',
      ...rest,
      name,
      rules,
      clientConfig: { url },
      admissionReviewVersions: ['v1'],
    } as const;
    try {
      await resource.create({ metadata: { name }, webhooks: [webhook] });
    } catch (error) {
      remove();
      throw error;
    }
    return {
      name,
      async remove() {
        await apierrors.unlessMissing(resource.delete(name));
        remove();
      },
    };
  };

  return {
    mutate: (resources, handler, options = {}) => admission('mutate', resources, handler, options),
    validate: (resources, handler, options = {}) =>
      admission('validate', resources, handler, options),
    async convert({ resource, group }, handler) {
      const name = `${resource}.${group}`;
      const { url, remove } = local.add(nextName('convert'), (review) =>
        reviewConversion(review, handler),
      );
      const definitions = client.resource(customResourceDefinitions);
      const set = (conversion: object): Promise<unknown> =>
        definitions.patch(name, 'application/merge-patch+json', { spec: { conversion } });
      const webhook = { clientConfig: { url }, conversionReviewVersions: ['v1'] };
      try {
        await set({ strategy: 'Webhook', webhook });
      } catch (error) {
        remove();
        throw error;
      }
      return {
        name,
        async remove() {
          const { spec } = (await apierrors.unlessMissing(definitions.get(name))) ?? {};
          // Another handler may have taken its place.
          if (spec?.conversion?.webhook?.clientConfig?.url === url)
            await set({ strategy: 'None', webhook: null });
          remove();
        },
      };
    },
    authorize(review, { failurePolicy = 'Deny' } = {}) {
      const name = nextName('authorize');
      const remove = authorizer.add({ name, review, failurePolicy });
      return { name, remove: () => Promise.resolve(remove()) };
    },
  };
}

/** A domain of three parts at least, which begins with the handler's own name. */
function defaultName(
  own: string,
  type: Pick<ResourceType, 'resource' | 'group'> | undefined,
): string {
  if (type === undefined) throw new TypeError('a handler needs a resource');
  return `${own}.${type.resource}.${type.group === '' ? 'core' : type.group}`;
}

function ruleOf(
  {
    group,
    version,
    resource,
    namespaced,
  }: Pick<ResourceType, 'group' | 'version' | 'resource' | 'namespaced'>,
  operations: readonly OperationType[] = ['CREATE', 'UPDATE'],
  subresources: readonly string[] = [],
): RuleWithOperations {
  return {
    apiGroups: [group],
    apiVersions: [version],
    resources: [resource, ...subresources.map((subresource) => `${resource}/${subresource}`)],
    operations: [...operations],
    scope: namespaced ? 'Namespaced' : 'Cluster',
  };
}
