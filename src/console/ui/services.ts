// The services that all pages use: made once, in main.tsx.

import { createContext, useContext } from 'react';
import type { Api } from './data/server/api.ts';
import type { ClusterClock } from './data/server/cluster-clock.ts';
import type { Connection } from './data/server/connection.ts';
import type { Types } from './data/server/discovery.ts';
import type { Extras } from './data/server/extras.ts';
import { type ListWatchConfig, WATCH_SECONDS } from './data/lists/list-watch.ts';
import type { Session } from './data/server/session.ts';
import type { Store } from './data/server/store.ts';
import type { TableCache } from './data/lists/table-cache.ts';

export interface Services {
  readonly api: Api;
  readonly clock: ClusterClock;
  readonly connection: Connection;
  readonly session: Session;
  /** The kinds that the server serves; replaced when they change. */
  readonly types: Store<Types>;
  readonly tables: TableCache;
  readonly extras: Extras;
}

/** The part of a list-watch configuration that is the same for all collections. */
export type FollowConfig = Pick<
  ListWatchConfig<never>,
  'api' | 'clock' | 'whenOnline' | 'watchSeconds'
>;

/** 30 days: a virtual clock passes nine minutes many times in a moment. */
const VIRTUAL_WATCH_SECONDS = 30 * 86_400;

export const followConfig = ({
  api,
  clock,
  connection,
  extras,
}: Pick<Services, 'api' | 'clock' | 'connection' | 'extras'>): FollowConfig => ({
  api,
  clock,
  whenOnline: (signal) => connection.whenOnline(signal),
  watchSeconds: async () => ((await extras.has('clock')) ? VIRTUAL_WATCH_SECONDS : WATCH_SECONDS),
});

export const ServicesContext = createContext<Services | undefined>(undefined);

export function useServices(): Services {
  const services = useContext(ServicesContext);
  if (services === undefined) throw new Error('a component is used outside of the page');
  return services;
}
