/*
 * Loaded by `npm start` before anything else, so that an incomplete installation ends with one line and not with a stack.
 * The project's own Node is missing after `npm ci` with --ignore-scripts or NODE_ENV=production, and an older Node then
 * runs this file, so it uses nothing that Node 18, the oldest with npm 10, does not know.
 */
var fs = require('node:fs');
var path = require('node:path');

var root = path.join(__dirname, '..', '..');
var requiredMajor = 26;

/** @returns what is missing and what to do, or undefined */
function findFault() {
  if (Number(process.versions.node.split('.')[0]) < requiredMajor) {
    return (
      'the project needs Node ' +
      requiredMajor +
      ', and this is ' +
      process.version +
      ': run npm ci without --ignore-scripts, --omit=dev and NODE_ENV=production, which installs its own, or install Node ' +
      requiredMajor
    );
  }
  if (!fs.existsSync(path.join(root, 'node_modules')))
    return 'the dependencies are not installed: run npm ci';
  if (!fs.existsSync(path.join(root, 'pets-service', 'generated', 'prisma', 'client.ts'))) {
    return 'the database client is not generated: run npm ci without --ignore-scripts';
  }
  return undefined;
}

var fault = findFault();
if (fault !== undefined) {
  process.stderr.write('npm start: ' + fault + '\n');
  process.exit(1);
}
