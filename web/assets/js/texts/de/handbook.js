// The links to the handbook, in German. The handbook itself is English.

/** @type {typeof import("../handbook.js").handbookWords} */
export const handbookWords = {
  title: "Handbuch",
  fromHelp: "Das Handbuch (auf Englisch): die erste Stunde, Modelle, Messenger, und was zu tun ist, wenn etwas nicht geht",
};
