// DefaultBinder: binds a pod through the API server.

import { pods } from '#api/groups/core/v1/index.ts';
import { abortable } from '#client/abort.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { PodBinding } from '../framework/bind-pods.ts';
import type { PluginRegistration } from '../framework/handle.ts';
import type { BindPlugin } from '../framework/plugin.ts';
import { noArgs } from './args.ts';
import { BindingBatches } from './binding-batches.ts';

export const defaultBinder: PluginRegistration = {
  name: 'DefaultBinder',
  create(args, { client, bindPods }) {
    noArgs(defaultBinder.name, args);
    const batches = bindPods && new BindingBatches(bindPods);
    return {
      name: defaultBinder.name,
      async bind(_state, { pod }, node, signal) {
        const { name, namespace = '', uid = '' } = pod.metadata;
        const binding = { namespace, name, uid, node };
        const result =
          batches === undefined ? 'refused' : await abortable(batches.bind(binding), signal);
        if (result === 'bound') return undefined;
        if (result !== 'refused') throw apierrors.fromStatus(result);
        await bindByRequest(client, binding, signal);
        return undefined;
      },
    } satisfies BindPlugin;
  },
};

async function bindByRequest(
  client: Client,
  { namespace, name, uid, node }: PodBinding,
  signal: AbortSignal,
): Promise<void> {
  const binding = {
    apiVersion: 'v1',
    kind: 'Binding',
    // The UID ensures that a new pod with the same name is not bound instead.
    metadata: { name, namespace, uid },
    target: { kind: 'Node', name: node },
  };
  await client
    .resource(pods)
    .namespace(namespace)
    .subresource(name, 'binding', binding, { signal });
}
