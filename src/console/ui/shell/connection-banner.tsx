// Says that the server is away: what is shown may be out of date.

import { Alert } from '@mantine/core';
import type { ReactNode } from 'react';
import { durationText } from '../data/text/age.ts';
import { useNow, useStore } from '../parts/hooks.ts';
import { useServices } from '../services.ts';

const QUIET_MS = 1500;

export function ConnectionBanner(): ReactNode {
  const { connection } = useServices();
  const state = useStore(connection.state);
  const now = useNow(1000);
  // An interruption that is over at once needs no words.
  if (state.kind !== 'offline' || now - state.sinceMs < QUIET_MS) return null;
  const seconds = Math.max(0, Math.ceil((state.retryAtMs - now) / 1000));
  return (
    <Alert color="red" title="The server does not answer" role="status" className="banner">
      This page shows what was known {durationText(Math.max(0, now - state.sinceMs))} ago. Next
      attempt {seconds === 0 ? 'now' : `in ${seconds} s`}; the page continues by itself.
    </Alert>
  );
}
