// Concurrent writes of the ConfigMap for extension API servers by several servers.

import { expect, test } from 'vitest';

import { configMaps } from '#api/groups/core/v1/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { Follower } from '../catalog/follow.ts';
import { makeTestAuthority } from '../testing/certificates.ts';
import { serverPerTest } from '../testing/server-per-test.ts';
import { AuthenticationConfig } from './authentication-config.ts';

const t = serverPerTest({ clock: systemClock });

test.each([0, 1])('all add their authorities, %i of them before', async (before) => {
  const names = ['one', 'two', 'three', 'four'];
  const authorities = (await Promise.all(names.map((name) => makeTestAuthority(name)))).map(
    ({ cert }) => cert,
  );
  const { client, clock, logger, server } = t;
  const follower = new Follower({ catalog: server.catalog, clock, logger });
  const add = (clientCa: string): Promise<void> =>
    new AuthenticationConfig({ client, clock, logger, clientCa }).start(follower);
  for (const authority of authorities.slice(0, before)) await add(authority);
  await Promise.all(authorities.slice(before).map(add));
  const { data } = await client
    .resource(configMaps)
    .namespace('kube-system')
    .get('extension-apiserver-authentication');
  const bundle = data?.['client-ca-file'] ?? '';
  for (const authority of authorities) expect(bundle).toContain(authority.trim());
  follower.stop();
});
