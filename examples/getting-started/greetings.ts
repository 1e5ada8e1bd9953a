// An operator: each Greeting gets a ConfigMap with its text.

import { configMaps } from 'coxswain/api/core/v1';
import { defineCustomResource } from 'coxswain/client';
import { defineController, ownerReference } from 'coxswain/controller';

export const greetings = defineCustomResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Greeting',
  schema: {
    spec: {
      type: 'object',
      required: ['to'],
      properties: { to: { type: 'string', minLength: 1 }, loud: { type: 'boolean' } },
    },
    status: { type: 'object', properties: { said: { type: 'boolean' } } },
  },
  required: ['spec'],
});

export const greeter = defineController('greeter', ({ client, for: reconciles, owns }) => {
  const all = reconciles(greetings);
  owns(configMaps);
  return async ({ namespace, name }) => {
    const greeting = all.lister.get(namespace, name);
    if (greeting === undefined) return;
    const text = `hello ${greeting.spec.to}${greeting.spec.loud === true ? '!' : ''}`;
    const metadata = { name, ownerReferences: [ownerReference(greeting, greetings)] };
    const manager = { fieldManager: 'greeter' };
    await client
      .resource(configMaps)
      .namespace(namespace)
      .apply({ metadata, data: { text } }, manager);
    if (greeting.status?.said === true) return;
    await client
      .resource(greetings)
      .namespace(namespace)
      .apply({ metadata: { name }, status: { said: true } }, { ...manager, subresource: 'status' });
  };
});
