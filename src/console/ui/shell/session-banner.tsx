// Says that the session is about to end, so that the user can sign in again before.

import { Alert, Button, Modal } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useStore } from '../parts/hooks.ts';
import { useServices } from '../services.ts';
import { Login } from './login.tsx';

export function SessionBanner(): ReactNode {
  const { session, connection } = useServices();
  const endsSoon = useStore(session.endsSoon);
  const info = useStore(session.info);
  const state = useStore(connection.state);
  const [opened, setOpened] = useState(false);
  // The page asks for another sign-in itself once the session has ended.
  if (!endsSoon || info?.expires === undefined || state.kind === 'signed-out') return null;
  const time = new Date(info.expires).toLocaleTimeString();
  return (
    <>
      <Alert color="yellow" title={`Your session ends at ${time}`} role="status" className="banner">
        Sign in again to go on without an interruption.{' '}
        <Button size="compact-sm" variant="default" onClick={() => setOpened(true)}>
          Sign in again
        </Button>
      </Alert>
      <Modal
        opened={opened}
        onClose={() => setOpened(false)}
        title="Sign in again"
        closeButtonProps={{ 'aria-label': 'Close' }}
        centered
      >
        <Login
          embedded
          onSignedIn={async () => {
            setOpened(false);
          }}
        />
      </Modal>
    </>
  );
}
