// cel.bind(name, value, expression): a name for a value.

import type { Library } from '../declarations.ts';
import { bindMacros } from '../macros.ts';

export const bindingsLibrary: Library = { name: 'bindings', macros: bindMacros };
