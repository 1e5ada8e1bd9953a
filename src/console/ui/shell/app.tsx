// Decides between the login page and the pages behind it. A session that expires keeps the page
// below the login, so that nothing that was typed is lost.

import { Modal } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { Router } from 'wouter';
import { useHashLocation } from 'wouter/use-hash-location';
import { messageOf, UnreachableError } from '../data/server/api-error.ts';
import { discover, Types } from '../data/server/discovery.ts';
import { ErrorBox, Loading } from '../parts/basics.tsx';
import { useStore } from '../parts/hooks.ts';
import { type Services, useServices } from '../services.ts';
import { ConnectionBanner } from './connection-banner.tsx';
import { Layout } from './layout.tsx';
import { Login } from './login.tsx';

/** Kinds come and go with custom resource definitions. */
const DISCOVERY_MS = 30_000;

type Phase =
  | { readonly kind: 'starting' }
  | { readonly kind: 'login'; readonly problem?: string }
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly error: unknown };

export interface AppProps {
  /** The code of a one-time link. */
  readonly code: string | undefined;
  /** Why a sign-in at the identity provider has failed. */
  readonly problem: string | undefined;
}

export function App({ code, problem }: AppProps): ReactNode {
  const services = useServices();
  const connection = useStore(services.connection.state);
  const user = useStore(services.session.info);
  const [phase, setPhase] = useState<Phase>({ kind: 'starting' });

  useEffect(() => {
    void start(services, { code, problem }).then(setPhase);
  }, [services, code, problem]);

  useEffect(() => {
    if (phase.kind !== 'ready') return undefined;
    const timer = services.clock.setInterval(DISCOVERY_MS, () => void refreshTypes(services));
    const abort = new AbortController();
    services.clock.follow(services.extras, abort.signal).catch((error: unknown) => {
      if (!abort.signal.aborted) console.warn('the time of the cluster cannot be read', error);
    });
    return () => {
      timer.cancel();
      abort.abort();
    };
  }, [services, phase]);

  const signedIn = async (): Promise<void> => {
    setPhase(await enter(services));
  };

  if (phase.kind === 'starting')
    return (
      <main className="centered">
        <ConnectionBanner />
        <Loading what="the console" />
      </main>
    );
  if (phase.kind === 'login') return <Login problem={phase.problem} onSignedIn={signedIn} />;
  if (phase.kind === 'failed')
    return (
      <main className="centered">
        <ErrorBox
          title="The console cannot start"
          error={phase.error}
          onRetry={() => {
            setPhase({ kind: 'starting' });
            void start(services, {}).then(setPhase);
          }}
        />
      </main>
    );
  if (connection.kind === 'signed-out' && !connection.expired)
    return <Login onSignedIn={signedIn} />;
  return (
    <Router hook={useHashLocation}>
      {/* Another user begins anew: nothing of the last one's may stay. */}
      <Layout key={user?.user} />
      <Modal
        opened={connection.kind === 'signed-out'}
        onClose={() => undefined}
        withCloseButton={false}
        title="Your session has ended"
        centered
      >
        <Login embedded onSignedIn={signedIn} />
      </Modal>
    </Router>
  );
}

async function start(services: Services, { code, problem }: Partial<AppProps>): Promise<Phase> {
  try {
    if (code !== undefined) {
      try {
        await services.session.signIn({ code });
      } catch (error) {
        if (error instanceof UnreachableError) throw error;
        return { kind: 'login', problem: `The login link does not work: ${messageOf(error)}` };
      }
    } else if (!(await services.session.read())) return { kind: 'login', problem };
    return await enter(services);
  } catch (error) {
    if (!(error instanceof UnreachableError)) return { kind: 'failed', error };
    // A code works once, so it is not sent again: the session says whether it has worked.
    await services.connection.whenOnline(new AbortController().signal);
    return start(services, {});
  }
}

/** Reads what every page needs, as the user who has signed in. */
async function enter(services: Services): Promise<Phase> {
  try {
    services.connection.signedIn();
    services.types.set(await discover(services.api));
    return { kind: 'ready' };
  } catch (error) {
    if (error instanceof UnreachableError) throw error;
    return { kind: 'failed', error };
  }
}

async function refreshTypes({ api, types, connection }: Services): Promise<void> {
  if (connection.state.get().kind !== 'online') return;
  try {
    const next = await discover(api);
    if (JSON.stringify(next.all) !== JSON.stringify(types.get().all))
      types.set(new Types(next.all));
  } catch (error) {
    console.warn('discovery failed, will retry', error);
  }
}
