// Selects the controllers to run, from the values of `--controllers`.

import { CONTROLLER_NAMES, controllerEntry, type ControllerName } from './controllers.ts';

/** The selection names a controller that does not exist. */
export class UnknownControllerError extends Error {
  override readonly name = 'UnknownControllerError';
}

/**
 * Returns the selected controllers. `*` selects every controller that is on by default, `foo`
 * selects foo, `-foo` disables foo. The first mention of a controller counts; a controller without
 * a mention runs only with `*`. Former names are accepted. Throws UnknownControllerError for an
 * unknown controller, unless it is disabled.
 */
export function selectControllers(selectors: readonly string[]): readonly ControllerName[] {
  const unknown = selectors.filter(
    (selector) =>
      selector !== '*' && !selector.startsWith('-') && canonical(selector) === undefined,
  );
  if (unknown.length > 0) {
    throw new UnknownControllerError(
      unknown
        .map((name) => `${JSON.stringify(name)} is not in the list of known controllers`)
        .join(', '),
    );
  }
  const all = selectors.includes('*');
  return CONTROLLER_NAMES.filter((name) => {
    for (const selector of selectors) {
      if (canonical(selector) === name) return true;
      if (selector.startsWith('-') && canonical(selector.slice(1)) === name) return false;
    }
    return all && controllerEntry(name).onByDefault !== false;
  });
}

function canonical(name: string): ControllerName | undefined {
  return CONTROLLER_NAMES.find((known) => known === name || controllerEntry(known).alias === name);
}

/** Returns the help text of `--controllers`. */
export function controllersHelp(): string {
  const off = CONTROLLER_NAMES.filter((name) => controllerEntry(name).onByDefault === false);
  return (
    `which controllers run: '*' means all that are on by default, 'foo' the controller foo, '-foo' all but foo.\n` +
    `All: ${[...CONTROLLER_NAMES].sort().join(', ')}\nOff by default: ${[...off].sort().join(', ')}`
  );
}
