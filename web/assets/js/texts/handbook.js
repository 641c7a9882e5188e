// The words of the links to the handbook.

export const handbookWords = {
  title: "Handbook",
  fromHelp: "The handbook: a first hour, models, messengers, and what to do when something fails",
};
