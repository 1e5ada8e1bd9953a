// Components whose scripts are loaded when they are first shown.

import { type ComponentType, lazy, type LazyExoticComponent } from 'react';
import { browserClock } from '../browser/clock.ts';
import { loadAgain } from '../browser/load-again.ts';

export const lazyComponent = <P>(
  load: () => Promise<ComponentType<P>>,
): LazyExoticComponent<ComponentType<P>> =>
  lazy(async () => ({ default: await loadAgain(load, browserClock) }));
