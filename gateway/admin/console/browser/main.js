import './elements/console-app.js';
