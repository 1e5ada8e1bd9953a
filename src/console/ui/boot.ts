// The first script. It is small, so that the browser paints what index.html contains before it runs
// all others, which it has begun to fetch.

import './styles/mantine.css';
import './styles/page.css';
import { browserClock, sleep } from './browser/clock.ts';
import { loadAgain } from './browser/load-again.ts';

/** Nothing is painted in a tab that is not visible. */
const PAINT_TIMEOUT_MS = 100;

/** Resolves when the browser has painted, or does not. */
function painted(): Promise<void> {
  const afterPaint = new Promise<void>((resolve) => {
    requestAnimationFrame(() => browserClock.setTimer(0, resolve));
  });
  return Promise.race([afterPaint, sleep(browserClock, PAINT_TIMEOUT_MS)]);
}

await painted();
await loadAgain(() => import('./main.tsx'), browserClock);
