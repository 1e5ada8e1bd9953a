export { pluginDirectory, type PluginDirectory } from './plugin-directory.ts';
export { PluginManager, type PluginHandler } from './plugin-manager.ts';
export { registrationAt, type Plugin } from './registration-client.ts';
