// Starts the page: makes the services, signs in with a one-time link if there is one, and renders.

import { MantineProvider } from '@mantine/core';
import { createRoot } from 'react-dom/client';
import { browserClock } from './browser/clock.ts';
import { browserFetch } from './browser/fetch.ts';
import { applyStyleNonce, styleNonce } from './browser/style-nonce.ts';
import { Api } from './data/server/api.ts';
import { ClusterClock } from './data/server/cluster-clock.ts';
import { Connection } from './data/server/connection.ts';
import { Types } from './data/server/discovery.ts';
import { Extras } from './data/server/extras.ts';
import { loginCode, Session, signInProblem } from './data/server/session.ts';
import { Store } from './data/server/store.ts';
import { TableCache } from './data/lists/table-cache.ts';
import { followConfig, type Services, ServicesContext } from './services.ts';
import { App } from './shell/app.tsx';
import { theme } from './theme.ts';

function createServices(): Services {
  const clock = new ClusterClock(browserClock);
  const connection: Connection = new Connection(clock, async () => {
    // The connection observes every answer.
    await session.read().catch(() => undefined);
  });
  const api = new Api(browserFetch, connection);
  const extras = new Extras(api);
  const session = new Session(api, browserClock, () => {
    tables.clear();
    extras.forget();
  });
  const tables = new TableCache(clock, followConfig({ api, clock, connection, extras }));
  return {
    api,
    clock,
    connection,
    session,
    types: new Store(new Types([])),
    tables,
    extras,
  };
}

const nonce = styleNonce();
applyStyleNonce(nonce);

// The code works once: it must not stay in the address, or in the history.
const code = loginCode(location.hash);
const problem = signInProblem(location.hash);
if (code !== undefined || problem !== undefined) history.replaceState(null, '', location.pathname);

const root = document.querySelector('#root');
if (root === null) throw new Error('the page has no root');
createRoot(root).render(
  <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
    <ServicesContext value={createServices()}>
      <App code={code} problem={problem} />
    </ServicesContext>
  </MantineProvider>,
);
