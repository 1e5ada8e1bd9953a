// Compares servers with flags that are not the default ones: admission plugins, and ABAC.

import { compareGroups } from '../calls/run.ts';
import type { ReportLines } from '../report.ts';
import { ABAC_CALLS, ABAC_SETTINGS } from './abac.ts';
import { PLUGIN_CALLS, PLUGIN_SETTINGS } from './plugins.ts';
import { startBoth } from './servers.ts';

/** `only`: names of groups. Default: all. Throws UserError if a server does not start. */
export async function compareConfigured(
  report: ReportLines,
  progress: (text: string) => void,
  only?: readonly string[],
): Promise<void> {
  for (const [settings, groups] of [
    [PLUGIN_SETTINGS, PLUGIN_CALLS],
    [ABAC_SETTINGS, ABAC_CALLS],
  ] as const) {
    if (only !== undefined && !only.some((name) => Object.hasOwn(groups, name))) continue;
    const { ours, theirs, stop } = await startBoth(settings, progress);
    try {
      await compareGroups(groups, ours, theirs, report, only);
    } finally {
      await stop();
    }
  }
}
